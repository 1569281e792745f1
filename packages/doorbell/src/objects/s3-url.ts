// What an s3: URL says: s3://BUCKET/PREFIX, with settings as parameters of its query.
import type { DoorbellError } from "../core/errors.ts";
import { QueueUrl } from "../queue/parameters.ts";

export interface S3Settings {
  readonly bucket: string;
  /** Before every key: "" or a path that ends in "/". */
  readonly prefix: string;
  /** Null: as AWS_REGION or the profile say. */
  readonly region: string | null;
  /** Null: AWS itself. */
  readonly endpoint: string | null;
  /** The bucket stands in the path, not in the host. */
  readonly pathStyle: boolean;
  /** A SHA-256 goes with each upload for the service to compare and keep, beside the one that the signature covers. */
  readonly checksum: boolean;
  /** If-None-Match decides who creates an object. */
  readonly conditional: boolean;
  /** How long the service may be silent. */
  readonly timeoutMs: number;
}

/** Throws option_invalid, without the text of the URL. */
export function readS3Url(text: string): S3Settings {
  const given = new QueueUrl(text, "s3", "objects");
  const { host: bucket, pathname, username, password, hash } = given.url;
  if (username !== "" || password !== "")
    throw given.refused("credentials do not belong in it; they are taken the usual way of AWS (AWS_ACCESS_KEY_ID, …)");
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    throw given.refused("it names no bucket, as s3://BUCKET/PREFIX does (3 to 63 of a-z, 0-9, - and .)");
  if (bucket.endsWith("--x-s3"))
    throw given.refused("a directory bucket (S3 Express) has no order to list in; name a general purpose bucket");
  const prefix = /^(?:\/([\w.-]+(?:\/[\w.-]+)*)?\/?)?$/.exec(pathname);
  if (prefix === null || pathname.length > 200 || hash !== "")
    throw given.refused("its prefix is not of letters, digits, -, _, . and single slashes, at most 200 characters");
  const endpoint = given.text("endpoint");
  if (endpoint !== null) requireEndpoint(endpoint, given.refused.bind(given));
  const checksum = given.text("checksum") ?? (endpoint === null ? "sha256" : "none");
  if (checksum !== "sha256" && checksum !== "none") throw given.refused("checksum is neither sha256 nor none");
  const settings: S3Settings = {
    bucket,
    prefix: prefix[1] === undefined ? "" : `${prefix[1]}/`,
    // What is not AWS has one region, and most take this name for it.
    region: given.text("region") ?? (endpoint === null ? null : "us-east-1"),
    endpoint,
    pathStyle: given.flag("pathStyle", endpoint !== null),
    checksum: checksum === "sha256",
    conditional: given.flag("conditional", true),
    timeoutMs: given.duration("timeout", "30s", "100ms", "10m"),
  };
  given.requireNothingLeft();
  return settings;
}

function requireEndpoint(endpoint: string, refused: (why: string) => DoorbellError): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw refused("endpoint is not an http: or https: URL");
  if (url.username !== "" || url.password !== "" || url.search !== "")
    throw refused("endpoint is more than a host, a port and a path; credentials are taken the usual way of AWS");
}
