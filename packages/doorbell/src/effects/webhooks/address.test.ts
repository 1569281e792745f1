import { expect, test } from "vitest";
import { isPublicAddress } from "./address.ts";

test.each([
  "8.8.8.8",
  "1.1.1.1",
  "93.184.216.34",
  "172.15.255.255",
  "172.32.0.1",
  "100.63.255.255",
  "100.128.0.1",
  "2606:4700::1111",
  "2a00:1450:4001:80b::200e",
  "::ffff:8.8.8.8",
])("%s is public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test.each([
  // not an address
  "",
  "localhost",
  "example.com",
  "1.2.3",
  "::g",
  // this host, loopback
  "0.0.0.0",
  "0.1.2.3",
  "127.0.0.1",
  "127.255.255.254",
  "::",
  "::1",
  "::7f00:1",
  "::ffff:127.0.0.1",
  "::ffff:0:127.0.0.1",
  // private, link-local, carrier-grade, metadata
  "10.0.0.1",
  "172.16.0.1",
  "172.31.255.255",
  "192.168.1.1",
  "169.254.169.254",
  "100.64.0.1",
  "100.100.100.200",
  "168.63.129.16",
  "::ffff:168.63.129.16",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "fe80::1%eth0",
  "fec0::1",
  // reserved, documentation, benchmarking, multicast, broadcast
  "192.0.0.8",
  "192.0.0.192",
  "192.0.2.1",
  "198.18.0.1",
  "198.51.100.1",
  "203.0.113.1",
  "192.88.99.1",
  "224.0.0.1",
  "240.0.0.1",
  "255.255.255.255",
  "ff02::1",
  "100::1",
  "2001:db8::1",
  "3fff::1",
  "5f00::1",
  "4000::1",
  // translations and tunnels that may end at a private address
  "64:ff9b::7f00:1",
  "64:ff9b:1::1",
  "2002:7f00:1::",
  "2001::1",
])("%j is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});
