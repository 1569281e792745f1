import { describe, expect, test } from "vitest";
import { findDays, isUnambiguous, provenDayOrder, readDay } from "./dates.ts";

const only = (text: string) => {
  const [found, ...rest] = findDays(text);
  if (found === undefined || rest.length > 0) throw new Error(`not one day in ${text}`);
  return found.value;
};

describe("findDays", () => {
  test.each([
    ["2020-11-21", "2020-11-21"],
    ["05.03.2018", "2018-03-05"],
    ["19 april 2014", "2014-04-19"],
    ["August 3 , 2014", "2014-08-03"],
    ["Jan 1, 2022", "2022-01-01"],
    ["1er février 2024", "2024-02-01"],
    ["3. März 2025", "2025-03-03"],
    ["15 août 2023", "2023-08-15"],
    ["21 mei 2023", "2023-05-21"],
    ["12-Dec-2025", "2025-12-12"],
    ["31.12.24", "2024-12-31"],
  ])("reads %s in one way only", (text, day) => {
    expect(isUnambiguous(only(text))).toBe(true);
    expect(readDay(only(text), "month-first")).toBe(day);
  });

  test("sees both readings of a day that has two", () => {
    expect(only("9/10/2020")).toEqual({ dayFirst: "2020-10-09", monthFirst: "2020-09-10" });
    expect(isUnambiguous(only("9/10/2020"))).toBe(false);
  });

  test("sees one reading where the other is no day", () => {
    expect(only("11/15/2019")).toEqual({ dayFirst: null, monthFirst: "2019-11-15" });
    expect(only("22-9-2022")).toEqual({ dayFirst: "2022-09-22", monthFirst: null });
  });

  test.each(["31.02.2024", "2024-13-01", "192.168.10.20", "1/2", "10.2024", "0815/2024/17", "5 Widgets 2024"])(
    "finds no day in %s",
    (text) => {
      expect(findDays(text)).toEqual([]);
    },
  );
});

describe("provenDayOrder", () => {
  const days = (...texts: string[]) => texts.map(only);

  test("is proven by one day that has one reading", () => {
    expect(provenDayOrder(days("8-9-2022", "22-9-2022"))).toBe("day-first");
    expect(provenDayOrder(days("1/2/2022", "1/31/2022"))).toBe("month-first");
  });

  test("is open without proof, and with contradicting proof", () => {
    expect(provenDayOrder(days("9/10/2020", "12/5/2020"))).toBeNull();
    expect(provenDayOrder(days("31.01.2014", "9/10/2020"))).toBeNull();
    expect(provenDayOrder(days("31/01/2020", "01/31/2020"))).toBeNull();
  });
});
