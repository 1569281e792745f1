// Takes the network away from this process: reading a document never needs it, and a document must not be able to make
// anybody call anywhere. A second line of defence; the readers themselves open no addresses.
import net from "node:net";

/** Makes every outgoing connection of this process throw. There is no way back. */
export function refuseNetwork(): void {
  net.Socket.prototype.connect = () => {
    throw new Error("the document reader has no network");
  };
}
