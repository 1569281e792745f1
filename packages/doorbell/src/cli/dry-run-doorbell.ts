// What an application is given in a dry run: a Doorbell whose transactions are rolled back, that enqueues only in them, and
// that can neither work nor store. An application that writes by clients of its own does so here too.
import { DoorbellError } from "../core/errors.ts";
import type { Doorbell } from "../doorbell.ts";
import type { Bucket } from "../objects/bucket.ts";
import type { Tx } from "../store/database.ts";
import { isRolledBack, rolledBack } from "../worker/rehearsal.ts";

export function withoutWrites(doorbell: Doorbell): Doorbell {
  const { client } = doorbell;
  const inRolledBack = (what: string, tx: Tx | undefined): void => {
    if (!isRolledBack(tx)) throw refusal(`${what} outside of a transaction of the dry run`);
  };
  return {
    ...doorbell,
    objects: readOnly(doorbell.objects),
    enqueue: async (job, payload, options) => {
      inRolledBack("enqueue", options.tx);
      return await doorbell.enqueue(job, payload, options);
    },
    enqueueMany: async (jobs, options) => {
      inRolledBack("enqueueMany", options?.tx);
      return await doorbell.enqueueMany(jobs, options);
    },
    emit: async (tenant, event, payload, options) => {
      inRolledBack("emit", options?.tx);
      return await doorbell.emit(tenant, event, payload, options);
    },
    transaction: async (tenant, fn) =>
      await rolledBack(client.database, async (tx) => {
        await client.clamp(tx, tenant);
        return await fn(tx);
      }),
    worker: () => refuse("a worker"),
    maintenance: () => refuse("maintenance"),
    sweep: async () => refuse("a sweep"),
    close: async () => {},
    get client(): never {
      return refuse("the client beneath");
    },
  };
}

/** What reads is the bucket's own; everything else is refused. */
function readOnly(objects: Bucket): Bucket {
  const reads: ReadonlySet<string | symbol> = new Set(["get", "read", "stat", "list"]);
  return new Proxy(objects, {
    get(target, name) {
      if (!reads.has(name)) return () => refuse(`objects.${String(name)}`);
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}

function refuse(what: string): never {
  throw refusal(what);
}

function refusal(what: string): DoorbellError {
  return new DoorbellError("closed", `${what} is refused: this is a dry run, which writes nothing`);
}
