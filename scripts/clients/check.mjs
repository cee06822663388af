// Drives a running server through the official Node client.
//
// usage: node check.mjs BASE SAMPLE.wav SAMPLE.txt CACHE
//
// CACHE is the folder whose node_modules hold the client. Prints a line for each check
// that fails and a closing 'node: N passed, N failed'.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import path from "node:path";

const [base, sample, textFile, cache] = process.argv.slice(2);
const require = createRequire(path.join(cache, "package.json"));
const OpenAI = require("openai");
const { OpenAIRealtimeWS } = require("openai/realtime/ws");
const { OpenAIRealtimeWebSocket } = require("openai/realtime/websocket");
const { WebSocket } = require("ws");

// No retries: an answer that needs a second try is a failure here.
const client = new OpenAI({ baseURL: base + "/v1", apiKey: "none", maxRetries: 0, timeout: 120_000 });
const words = (text) => text.toLowerCase().match(/[a-z']+/g) ?? [];
const want = words(fs.readFileSync(textFile, "utf8"));
const sameWords = (text) => assert.deepEqual(words(text), want);

// The sample's header is 44 bytes; 16 000 samples of two bytes make a second.
const duration = (fs.statSync(sample).size - 44) / 32000;

// transcribe sends the sample as a stream, which goes out chunked, without Content-Length.
const transcribe = (options) =>
  client.audio.transcriptions.create({ file: fs.createReadStream(sample), model: "tiny.en", ...options });

// streamed is every event of a stream, in order.
async function streamed(options) {
  const events = [];
  for await (const event of await transcribe({ ...options, stream: true })) events.push(event);
  return events;
}

// refused asserts that a request is refused with the given class, naming the parameter at fault.
async function refused(kind, status, param, options) {
  await assert.rejects(transcribe(options), (e) => {
    assert.equal(e.constructor, kind, `got ${e.constructor.name}: ${e.message}`);
    assert.equal(e.status, status);
    assert.equal(e.param, param);
    assert.ok(e.type, "no type");
    return true;
  });
}

// The client's live sessions are encrypted always: these take that off for a server on this machine. The second one is how browsers
// connect.
globalThis.WebSocket = class extends WebSocket {
  constructor(url, protocols) {
    super(String(url).replace(/^wss:/, "ws:"), protocols);
  }
};
const liveWays = {
  ws: () => new OpenAIRealtimeWS({ model: "tiny.en", options: { createConnection: (o) => net.connect(o.port, o.host) } }, client),
  browser: () => new OpenAIRealtimeWebSocket({ model: "tiny.en", dangerouslyAllowBrowser: true }, client),
};

// transcribeLive sends the sample through a live session and returns its transcript.
function transcribeLive(open) {
  return new Promise((resolve, reject) => {
    const live = open();
    let deltas = "";
    live.on("error", reject);
    live.on("session.created", () => {
      const input = {
        format: { type: "audio/pcm", rate: 16000 },
        transcription: { model: "tiny.en", delay: "xhigh" }, // unfinished speech might show "9" for "nine"
        turn_detection: null,
      };
      live.send({ type: "session.update", session: { type: "transcription", audio: { input } } });
      const sound = fs.readFileSync(sample).subarray(44);
      for (let at = 0; at < sound.length; at += 6400) {
        live.send({ type: "input_audio_buffer.append", audio: sound.subarray(at, at + 6400).toString("base64") });
      }
      live.send({ type: "input_audio_buffer.commit" });
    });
    live.on("conversation.item.input_audio_transcription.delta", (e) => (deltas += e.delta));
    live.on("conversation.item.input_audio_transcription.failed", (e) => reject(new Error(JSON.stringify(e))));
    live.on("conversation.item.input_audio_transcription.completed", (e) => {
      live.close();
      if (e.transcript !== deltas) reject(new Error(`transcript ${e.transcript}, deltas ${deltas}`));
      resolve(e.transcript);
    });
  });
}

const segmentKeys = [
  "id", "seek", "start", "end", "text", "tokens", "temperature", "avg_logprob", "compression_ratio", "no_speech_prob",
];

const checks = {
  async "lists models"() {
    const ids = [];
    for await (const m of client.models.list()) ids.push(m.id);
    assert.ok(ids.includes("tiny.en") && ids.includes("base"), ids.join());
  },
  async "transcribes json"() {
    const answer = await transcribe({});
    sameWords(answer.text);
    assert.ok(answer._request_id, "no request id");
  },
  async "transcribes text"() {
    const text = await transcribe({ response_format: "text" });
    assert.equal(typeof text, "string");
    sameWords(text);
  },
  async "transcribes srt"() {
    const text = await transcribe({ response_format: "srt" });
    assert.match(text, /^1\n\d\d:\d\d:\d\d,\d{3} --> \d\d:\d\d:\d\d,\d{3}\n\S/);
    sameWords(text.replace(/^\d+$|^\d\d:.*$/gm, ""));
  },
  async "transcribes vtt"() {
    const text = await transcribe({ response_format: "vtt" });
    assert.match(text, /^WEBVTT\n\n/);
    sameWords(text.replace(/^WEBVTT$|^.*-->.*$/gm, ""));
  },
  async "transcribes verbose_json"() {
    const answer = await transcribe({ response_format: "verbose_json" });
    sameWords(answer.text);
    assert.equal(answer.language, "english");
    assert.equal(typeof answer.duration, "number");
    assert.ok(Math.abs(answer.duration - duration) < 0.01, `duration ${answer.duration}`);
    assert.ok(!answer.words, "words that nobody asked for");
    sameWords(answer.segments.map((s) => s.text).join(""));
    answer.segments.forEach((s, i) => {
      assert.equal(s.id, i);
      for (const key of segmentKeys) assert.ok(key in s, `segment lacks ${key}`);
    });
  },
  async "transcribes word times"() {
    const answer = await transcribe({ response_format: "verbose_json", timestamp_granularities: ["word", "segment"] });
    sameWords(answer.words.map((w) => w.word).join(" "));
    let start = 0;
    for (const w of answer.words) {
      assert.ok(start <= w.start && w.start <= w.end && w.end <= duration + 0.01, JSON.stringify(w));
      start = w.start;
    }
  },
  async "takes a buffer"() {
    const file = await OpenAI.toFile(fs.readFileSync(sample), "sample.wav");
    sameWords((await transcribe({ file, model: "base", language: "en" })).text);
  },
  async "transcribes twelve at once"() {
    const answers = await Promise.all(Array.from({ length: 12 }, () => transcribe({})));
    for (const answer of answers) sameWords(answer.text);
  },
  async "translates"() {
    const answer = await client.audio.translations.create({ file: fs.createReadStream(sample), model: "base" });
    sameWords(answer.text);
  },
  async "transcribes live"() {
    sameWords(await transcribeLive(liveWays.ws));
  },
  async "transcribes live as from a browser"() {
    sameWords(await transcribeLive(liveWays.browser));
  },
  async "streams"() {
    const events = await streamed({});
    const done = events.at(-1);
    const deltas = events.slice(0, -1);
    assert.equal(done.type, "transcript.text.done");
    assert.ok(deltas.length && deltas.every((e) => e.type === "transcript.text.delta"), JSON.stringify(events));
    assert.equal(deltas.map((e) => e.delta).join(""), done.text);
    sameWords(done.text);
    assert.equal(done.usage.type, "duration");
  },
  async "stops a stream early"() {
    for await (const event of await transcribe({ stream: true })) {
      assert.equal(event.type, "transcript.text.delta");
      break;
    }
    sameWords((await transcribe({})).text);
  },
  async "streams speakers"() {
    const segments = (await streamed({ response_format: "diarized_json" })).filter((e) => e.type === "transcript.text.segment");
    sameWords(segments.map((e) => e.text).join(" "));
    assert.ok(segments.every((e) => e.speaker === "A" && e.start < e.end), JSON.stringify(segments));
  },
  async "refuses a stream before it begins"() {
    await refused(OpenAI.NotFoundError, 404, "model", { model: "no-such-model", stream: true });
  },
  async "throws where a stream misses its deadline"() {
    await assert.rejects(streamed({ deadline_ms: 1 }), (e) => e instanceof OpenAI.APIError && e.param === "deadline_ms");
  },
  async "tells logprobs"() {
    const answer = await transcribe({ include: ["logprobs"] });
    const text = Buffer.from(answer.logprobs.flatMap((t) => t.bytes)).toString();
    assert.equal(text.trim(), answer.text);
  },
  async "transcribes diarized_json"() {
    const answer = await transcribe({ response_format: "diarized_json" });
    sameWords(answer.segments.map((s) => s.text).join(" "));
    assert.equal(answer.segments[0].speaker, "A");
  },
  async "refuses unknown fields where it is to"() {
    await refused(OpenAI.BadRequestError, 400, "langauge", { langauge: "en", strict: true });
  },
  async "refuses an unknown format"() {
    await refused(OpenAI.BadRequestError, 400, "response_format", { response_format: "docx" });
  },
  async "refuses an unknown language"() {
    await refused(OpenAI.BadRequestError, 400, "language", { model: "base", language: "xx" });
  },
  async "refuses a text file named wav"() {
    const file = await OpenAI.toFile(Buffer.from("This is no sound at all. ".repeat(40)), "talk.wav");
    await refused(OpenAI.APIError, 415, "file", { file });
  },
  async "refuses an unknown model"() {
    await refused(OpenAI.NotFoundError, 404, "model", { model: "no-such-model" });
  },
  async "refuses too large a file"() {
    const file = await OpenAI.toFile(Buffer.alloc(2 << 20), "big.wav");
    await refused(OpenAI.APIError, 413, "file", { file });
  },
};

let failed = 0;
for (const [name, run] of Object.entries(checks)) {
  try {
    await run();
  } catch (e) {
    failed++;
    console.log(`node: ${name} failed\n${e.stack}`);
  }
}
console.log(`node: ${Object.keys(checks).length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
