// Whether queue and object store are fit for production. Opens both, as the process will, and closes them again.
import type { Settings } from "../config/settings.ts";
import { describeFailure } from "../core/failure.ts";
import { openBucket } from "../objects/open.ts";
import { openQueueDriver } from "../queue/open.ts";
import type { Tx } from "../store/database.ts";
import type { Finding } from "./finding.ts";

/** A queue is asked for what it can do, not for a message: it is opened without a database. */
const noDatabase: Tx = { query: () => Promise.reject(new Error("nothing is asked of the database here")) };

export async function checkQueue(settings: Settings): Promise<readonly Finding[]> {
  const driver = await openQueueDriver(settings.queueUrl, noDatabase);
  try {
    if (!driver.capabilities.inProcess) return [];
    return [
      {
        code: "queue_in_process",
        severity: "refuse",
        subject: "DOORBELL_QUEUE",
        message: `queue ${settings.queueUrl} is in memory: its doorbells die with this process, and no other process sees them`,
        mend: "set DOORBELL_QUEUE=postgres:",
      },
    ];
  } finally {
    await driver.close();
  }
}

export async function checkObjects(settings: Settings): Promise<readonly Finding[]> {
  try {
    const bucket = await openBucket(settings.objectsUrl);
    try {
      await bucket.check();
    } finally {
      await bucket.close();
    }
    if (bucket.capabilities.durable) return [];
    return [
      {
        code: "objects_not_durable",
        severity: "refuse",
        subject: "DOORBELL_OBJECTS",
        message: `objects are in memory (${settings.objectsUrl}): the inputs of jobs die with this process`,
        mend: "set DOORBELL_OBJECTS=file:DIRECTORY, one that lasts and that every process sees, or s3://BUCKET/PREFIX",
      },
    ];
  } catch (error) {
    return [
      {
        code: "objects_unusable",
        severity: "refuse",
        subject: "DOORBELL_OBJECTS",
        message: `the object store cannot be used: ${describeFailure(error).message}`,
        mend: settings.objectsUrl.startsWith("s3:")
          ? "let this process read, write and list in the bucket (docs/objects has the policy), or set DOORBELL_OBJECTS to another"
          : "make the directory writable for this OS user, or set DOORBELL_OBJECTS to another",
      },
    ];
  }
}
