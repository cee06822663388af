// Drives a running server with keys through the official Node client, retries and all.
//
// usage: node keys.mjs BASE SAMPLE.wav PATIENT_KEY HASTY_KEY CACHE
//
// The patient key may send twenty requests a minute, the hasty one a single one. CACHE is the folder whose node_modules hold
// the client. Prints a line for each check that fails and a closing 'node, keys: N passed, N failed'.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [base, sample, patient, hasty, cache] = process.argv.slice(2);
const require = createRequire(path.join(cache, "package.json"));
const OpenAI = require("openai");

const client = (apiKey, options) => new OpenAI({ baseURL: base + "/v1", apiKey, timeout: 120_000, ...options });

// A buffer can be sent once more, a read stream can't: Node's client does not retry it.
const file = (content = fs.readFileSync(sample)) => OpenAI.toFile(content, "sample.wav");
const transcribe = async (c) => c.audio.transcriptions.create({ file: await file(), model: "tiny.en" });

// refusals is how often the server has refused with a code, which is how many attempts it has seen.
async function refusals(code) {
  const text = await (await fetch(base + "/metrics")).text();
  return Number(text.match(new RegExp(`^hark_rejections_total\\{code="${code}"\\} (\\d+)$`, "m"))?.[1] ?? 0);
}

// refused asserts that a call is refused after a single attempt.
async function refused(kind, code, call) {
  const before = await refusals(code);
  await assert.rejects(call, (e) => {
    assert.equal(e.constructor, kind, `got ${e.constructor.name}: ${e.message}`);
    assert.equal(e.code, code);
    return true;
  });
  assert.equal((await refusals(code)) - before, 1, "attempts");
}

const checks = {
  async "takes a key"() {
    assert.match((await transcribe(client(patient))).text, /last train/);
  },
  async "refuses a wrong key"() {
    await refused(OpenAI.AuthenticationError, "invalid_api_key", () => transcribe(client("sk-no-such-key")));
  },
  async "comes back when a place is soon free"() {
    const hurried = client(patient, { maxRetries: 0 });
    for (let n = 0; n < 30; n++) {
      // an empty file is a request, too
      const e = await hurried.audio.transcriptions.create({ file: await file(""), model: "tiny.en" }).catch((e) => e);
      if (e instanceof OpenAI.BadRequestError) continue;
      assert.equal(e.constructor, OpenAI.RateLimitError);
      const wait = Number(e.headers.get("retry-after"));
      assert.ok(wait >= 1 && wait <= 8, `Retry-After ${wait}`);
      break;
    }
    const before = await refusals("rate_limit_exceeded");
    assert.match((await transcribe(client(patient))).text, /last train/);
    const attempts = (await refusals("rate_limit_exceeded")) - before;
    assert.ok(attempts <= 1, `${attempts} refused attempts before one was served`);
  },
  async "gives up at once when it is not"() {
    await transcribe(client(hasty));
    await refused(OpenAI.RateLimitError, "rate_limit_exceeded", () => transcribe(client(hasty)));
  },
};

let failed = 0;
for (const [name, run] of Object.entries(checks)) {
  try {
    await run();
  } catch (e) {
    failed++;
    console.log(`node, keys: ${name} failed\n${e.stack}`);
  }
}
console.log(`node, keys: ${Object.keys(checks).length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
