// Which addresses on the network a webhook may reach: the public ones, and nothing else.
// A list of what is allowed, not of what is forbidden: an address that is not understood is not public.
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** The only part of IPv6 that is handed out. It leaves out ::/96, whose last bytes some stacks take for an IPv4 address. */
const ipv6InUse = ipaddr.IPv6.parseCIDR("2000::/3");

/** Looks public, and is the host that serves credentials to virtual machines of one cloud. */
const cloudHosts: ReadonlySet<string> = new Set(["168.63.129.16"]);

/** Tells whether a textual IP address is a public unicast address, judged after an IPv4 address in IPv6 was taken out. */
export function isPublicAddress(address: string): boolean {
  // The usual spelling only, which is what resolvers and sockets give: "1.2.3" has more than one meaning.
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === "ipv6" && !parsed.match(ipv6InUse)) return false;
  return parsed.range() === "unicast" && !cloudHosts.has(parsed.toString());
}
