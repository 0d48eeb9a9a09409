// A client of steward's session daemon in plain Node, without a dependency: the
// records of protocol version 2 on its Unix socket, and what an executor must not
// forget. It shares no code with steward.
import { createHash, randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, lstatSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
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
// it runs until the daemon has its outcome.
export class Memory {
  constructor(path) {
    this.path = path;
    this.state = path && existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : { instance: null, executor: null, proof: null, calls: {} };
  }

  save() {
    if (!this.path) return;
    const draft = this.path + ".draft";
    const file = openSync(draft, "w", 0o600);
    writeSync(file, JSON.stringify(this.state));
    fsyncSync(file);
    closeSync(file);
    renameSync(draft, this.path);
  }
}

// Executor runs the calls of one connection, each at most once.
export class Executor {
  constructor(memory, handlers) {
    this.memory = memory;
    this.handlers = handlers;
    this.running = new Set();
  }

  // attach makes the connection the executor's: under the proof that memory has, or
  // a new one. What was open is settled by what memory knows; nothing runs again.
  async attach(connection) {
    this.connection = connection;
    const s = this.memory.state;
    let resumed = null;
    if (s.executor && s.instance === connection.instance) {
      resumed = await connection.change("executor.resume", { executor_id: s.executor, resume_secret: s.proof }).catch((e) => {
        if (!(e instanceof Refused)) throw e;
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
      const known = s.calls[p.call_id];
      const message = known ? "the application ended while the call ran; it may have happened" : "the call did not reach the application; it was not executed";
      await this.tell(known ?? { session: p.session_id, binding: p }, known?.outcome ?? { status: "error", code: "execution_failed", message });
    }
    const wanted = new Set(resumed.pending_calls.map((p) => p.call_id));
    for (const id of Object.keys(s.calls)) if (!wanted.has(id) && !this.running.has(id)) delete s.calls[id];
    this.memory.save();
  }

  // take runs the call of an event, unless it is known.
  async take(event) {
    const call = event.payload;
    const { calls } = this.memory.state;
    if (calls[call.call_id]) return;
    const entry = calls[call.call_id] = { session: event.session_id, binding: { ...call, arguments: undefined }, outcome: null };
    this.running.add(call.call_id);
    this.memory.save();
    try {
      entry.outcome = { status: "success", value: await this.handlers[call.name](call.arguments) };
    } catch (e) {
      entry.outcome = { status: "error", code: "execution_failed", message: String(e.message).slice(0, 100) };
    }
    this.running.delete(call.call_id);
    this.memory.save();
    await this.tell(entry, entry.outcome).catch(() => {}); // the next connection tells it
  }

  async tell({ session, binding }, outcome) {
    const { turn_id, call_id, resource_id, revision_id, revision_sha256 } = binding;
    const payload = { turn_id, call_id, executor_id: this.memory.state.executor, executor_generation: this.generation, resource_id, revision_id, revision_sha256, outcome };
    try {
      await this.connection.change("turn.application_tool_result", payload, { session });
    } catch (e) {
      if (e.code !== "unknown_turn") throw e; // settled already, or given up
    }
    delete this.memory.state.calls[call_id];
    this.memory.save();
  }
}
