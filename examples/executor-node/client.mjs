// A client of steward's session daemon in plain Node, without a dependency: the
// records of protocol version 2 on its Unix socket, and what an executor must not
// forget. It shares no code with steward.
import { createHash, randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, lstatSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { createConnection } from "node:net";
import { dirname } from "node:path";

export const PROFILE = "application_resources_v1";
const RECORD = 64 * 1024;
const responseMembers = ["protocol_version", "kind", "request_id", "instance_id", "connection_id", "session_id", "operation_id", "method", "payload", "error"];
const eventMembers = ["protocol_version", "kind", "instance_id", "connection_id", "session_id", "operation_id", "grant_generation", "live_sequence", "event", "payload"];

export const operation = () => randomBytes(16).toString("hex");

// Refused is an error that the daemon answered.
export class Refused extends Error {
  constructor(method, { code, message }) {
    super(`${method}: ${code}: ${message}`);
    this.code = code;
  }
}

// Connection is one connection. Events are handed to onEvent in their order.
export class Connection {
  constructor(socket, onEvent) {
    this.socket = socket;
    this.onEvent = onEvent;
    this.waiting = new Map();
    this.next = 0;
    this.rest = Buffer.alloc(0);
    this.instance = null;
    this.connection = null;
    this.closed = new Promise((resolve) => socket.once("close", () => {
      for (const { reject } of this.waiting.values()) reject(new Error("the connection is lost"));
      this.waiting.clear();
      resolve();
    }));
    socket.on("data", (chunk) => this.take(chunk));
    socket.on("error", () => {}); // close follows
  }

  static async open(path, { onEvent = () => {}, profile = true, name = "node", handshake = true } = {}) {
    for (const [where, mode] of [[path, 0o600], [dirname(path), 0o700]]) {
      const st = lstatSync(where);
      if ((st.mode & 0o777) !== mode || st.uid !== process.getuid() || st.isSymbolicLink()) throw new Error("the daemon's socket is not this user's alone");
    }
    const socket = createConnection(path);
    await new Promise((resolve, reject) => { socket.once("connect", resolve); socket.once("error", reject); });
    const c = new Connection(socket, onEvent);
    if (handshake) {
      const payload = { client: { name, version: "1" }, ...(profile ? { requested_capabilities: [PROFILE] } : {}) };
      c.capabilities = await c.request("initialize", payload);
    }
    return c;
  }

  take(chunk) {
    this.rest = Buffer.concat([this.rest, chunk]);
    for (let at; (at = this.rest.indexOf(10)) >= 0; this.rest = this.rest.subarray(at + 1)) this.record(this.rest.subarray(0, at));
    if (this.rest.length > RECORD) this.socket.destroy();
  }

  record(line) {
    const r = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
    const members = r.kind === "event" ? eventMembers : responseMembers;
    if (line.length > RECORD || r.protocol_version !== 2 || Object.keys(r).length !== members.length || !members.every((m) => m in r)) {
      this.socket.destroy();
      return;
    }
    if (r.kind === "event") {
      this.onEvent(r);
      return;
    }
    if (r.request_id === null) {
      this.goodbye = r.error;
      return;
    }
    const who = this.waiting.get(r.request_id);
    this.waiting.delete(r.request_id);
    if (r.error) who?.reject(new Refused(r.method, r.error));
    else {
      if (r.method === "initialize") [this.instance, this.connection] = [r.instance_id, r.connection_id];
      who?.resolve(r.payload);
    }
  }

  // request asks for a method; what is left out is null on the wire.
  request(method, payload, { session = null, control = null, op = null } = {}) {
    const id = String(++this.next);
    const line = JSON.stringify({
      protocol_version: 2, kind: "request", request_id: id, instance_id: this.instance, connection_id: this.connection,
      session_id: session, operation_id: op, control, method, payload,
    });
    return new Promise((resolve, reject) => {
      if (this.socket.destroyed) return reject(new Error("the connection is lost"));
      this.waiting.set(id, { resolve, reject });
      this.socket.write(line + "\n");
    });
  }

  // change is request under a fresh operation.
  change(method, payload, more = {}) {
    return this.request(method, payload, { op: operation(), ...more });
  }

  close() {
    this.socket.destroy();
    return this.closed;
  }
}

// revisionHash is the guide's hash of a revision.
export function revisionHash(kind, name, description, captured) {
  const hash = createHash("sha256").update("magi-application-resource-v1");
  for (const part of [kind, name, description, captured]) {
    const bytes = Buffer.from(part);
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    hash.update(length).update(bytes);
  }
  return hash.digest("hex");
}

export const contentHash = (captured) => createHash("sha256").update(captured).digest("hex");

// Memory is what an executor must not forget: its proof, and each call from before
// it runs until the daemon has its outcome. Its file holds a secret and results: it
// belongs in a private folder, never in the workspace, which the agent reads. Plain
// Node has no file locks: give each process that runs at a time a file of its own.
// Nor can it ask a socket who listens; the folder's owner and mode say that here.
export class Memory {
  constructor(path) {
    this.path = path;
    if (path) mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const there = path && existsSync(path);
    if (there) {
      const st = lstatSync(path);
      if (!st.isFile() || (st.mode & 0o077) !== 0 || st.uid !== process.getuid()) throw new Error(`${path} is not a file of this user alone`);
    }
    this.state = there ? JSON.parse(readFileSync(path, "utf8")) : { instance: null, executor: null, proof: null, calls: {} };
  }

  save() {
    if (!this.path) return;
    const draft = this.path + ".draft";
    const file = openSync(draft, "w", 0o600);
    writeSync(file, JSON.stringify(this.state));
    fsyncSync(file);
    closeSync(file);
    renameSync(draft, this.path);
    const folder = openSync(dirname(this.path), "r");
    fsyncSync(folder);
    closeSync(folder);
  }
}

const VALUE = 16 * 1024; // bytes of a result (guide, Callback bounds)
const failure = (message) => ({ status: "error", code: "execution_failed", message });
const misfit = failure("the call ran, but its result does not fit the tool's output schema");
const passing = ["limit_exceeded", "configuration_busy", "persistence_failed", "internal_error", "shutting_down"];

// wellFormed has no half of a character and no NUL, for which the daemon would
// refuse a record and end the connection, and so the next one.
const wellFormed = (text) => text.toWellFormed().replaceAll("\0", "?");

// success is the outcome of a value: what no output schema can fit is a failure.
function success(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return misfit;
  const flat = JSON.parse(JSON.stringify(value, (_, v) => (typeof v === "string" ? v.toWellFormed() : v)));
  for (const [name, v] of Object.entries(flat)) if ((v !== null && typeof v === "object") || !name.isWellFormed()) return misfit;
  if (Buffer.byteLength(JSON.stringify(flat)) > VALUE) return failure("the call ran, but its result is too large");
  return { status: "success", value: flat };
}

// Executor runs the calls of one connection, each at most once.
export class Executor {
  constructor(memory, handlers) {
    this.memory = memory;
    this.handlers = handlers;
    this.running = new Set();
    this.attached = Promise.resolve();
  }

  // attach makes the connection the executor's: under the proof that memory has, or
  // a new one. What was open is settled by what memory knows; nothing runs again. If
  // it fails, close the connection and attach another.
  attach(connection) {
    const before = this.connection;
    this.connection = connection;
    this.attached = this.#attach(before, connection);
    return this.attached;
  }

  async #attach(before, connection) {
    await before?.close(); // what it received has been taken by now
    const s = this.memory.state;
    const known = Object.keys(s.calls); // of a later call, the answer says nothing
    let resumed = null;
    if (s.executor && s.instance === connection.instance) {
      resumed = await connection.change("executor.resume", { executor_id: s.executor, resume_secret: s.proof }).catch((e) => {
        if (e.code !== "stale_connection") throw e; // the proof and the outcomes keep their worth
        return null;
      });
    }
    if (!resumed) {
      const made = await connection.change("executor.create", {});
      Object.assign(s, { instance: connection.instance, executor: made.executor_id, proof: made.resume_secret, calls: {} });
      this.memory.save();
      resumed = await connection.change("executor.confirm", { executor_id: made.executor_id, resume_secret: made.resume_secret });
    }
    this.generation = resumed.executor_generation;
    for (const p of resumed.pending_calls) {
      if (p.status !== "pending" || this.running.has(p.call_id)) continue;
      const entry = s.calls[p.call_id];
      const message = entry ? "the application ended while the call ran; it may have happened" : "the call did not reach the application; it was not executed";
      const telling = this.tell(connection, entry ?? { session: p.session_id, binding: p }, entry?.outcome ?? failure(message));
      await telling.catch((e) => {
        if (!(e instanceof Refused) || e.code === "stale_connection") throw e; // else one outcome does not keep the connection from the others
      });
    }
    const wanted = new Set(resumed.pending_calls.map((p) => p.call_id));
    for (const id of known) if (!wanted.has(id) && !this.running.has(id)) delete s.calls[id];
    this.memory.save();
  }

  // take runs the call of an event, unless it is known.
  async take(event) {
    const call = event.payload;
    const { calls } = this.memory.state;
    if (calls[call.call_id]) return;
    const entry = calls[call.call_id] = { session: event.session_id, binding: { ...call, arguments: undefined }, outcome: null };
    this.running.add(call.call_id);
    try {
      this.memory.save();
      entry.outcome = success(await this.handlers[call.name](call.arguments));
    } catch (e) {
      entry.outcome = failure(wellFormed(String(e?.message ?? e).slice(0, 100)));
    }
    this.running.delete(call.call_id);
    try {
      this.memory.save();
    } catch {} // it is told all the same: it is what happened
    // The call may have come with the answer that attaches: its outcome waits for the
    // generation under which it can be told. If it is not told, the next attach does.
    await this.attached.then(() => this.tell(this.connection, entry, entry.outcome)).catch(() => {});
  }

  // tell submits an outcome, again and again while the daemon cannot take it now.
  async tell(connection, { session, binding }, outcome) {
    const { turn_id, call_id, resource_id, revision_id, revision_sha256 } = binding;
    const payload = { turn_id, call_id, executor_id: this.memory.state.executor, executor_generation: this.generation, resource_id, revision_id, revision_sha256, outcome };
    for (let pause = 100; ; pause = Math.min(2 * pause, 5000)) {
      try {
        await connection.change("turn.application_tool_result", payload, { session });
      } catch (e) {
        if (e.code === "invalid_payload" && payload.outcome !== misfit) {
          payload.outcome = misfit; // the daemon keeps the call open for an outcome that fits
          continue;
        }
        if (passing.includes(e.code)) {
          await new Promise((resolve) => setTimeout(resolve, pause));
          continue;
        }
        if (e.code !== "unknown_turn") throw e; // settled already, or given up
      }
      break;
    }
    delete this.memory.state.calls[call_id];
    this.memory.save();
  }
}
