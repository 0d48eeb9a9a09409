// An independent process plays the guide's verification story with the shipped
// daemon: story.mjs PROGRAM FOLDER. It prints a line a chapter and ends with 0.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { linkSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Connection, Executor, Memory, Refused, contentHash, operation, revisionHash } from "../../examples/executor-node/client.mjs";
import { forms, methodsOf } from "./corpus.mjs";
import { startModel } from "./model.mjs";

const [program, folder] = process.argv.slice(2);
const workspace = join(folder, "work");
const state = join(folder, "state");
const runtime = join(folder, "run");
for (const d of [workspace, state, runtime, join(workspace, "lent")]) mkdirSync(d, { recursive: true, mode: 0o700 });
const model = await startModel();
const env = { ...process.env, XDG_RUNTIME_DIR: runtime, STEWARD_MODEL: "openai", STEWARD_MODEL_NAME: "held", STEWARD_MODEL_URL: model.url, STEWARD_MODEL_KEY: "sk-canary-model-key" };
const where = ["--workspace", workspace, "--state-root", state];
const steward = (...args) => execFileSync(program, [...args, ...where], { env, encoding: "utf8" });

const everything = []; // every record that the daemon sent to anybody here
const secrets = new Set(); // what only a direct answer may hold

const refuses = async (code, promise, what) => {
  await assert.rejects(promise, (e) => e instanceof Refused && e.code === code || assert.fail(`${what}: ${e.message}, wanted ${code}`));
};

const schema = (...names) => ({ type: "object", properties: Object.fromEntries(names.map((n) => [n, { type: "string", maxLength: 64 }])), required: names, additionalProperties: false });
const contract = (input, output, more = {}) => JSON.stringify({ input_schema: schema(...input), output_schema: schema(...output), ...more });
const put = (name, text) => writeFileSync(join(workspace, name), text);
const file = (path) => ({ kind: "workspace_file", path });
const inline = (content) => ({ kind: "inline", content });

// An app is one connection that may control a session and execute its calls.
class App {
  static async open(socket, more = {}) {
    const app = new App();
    app.events = [];
    app.wake = [];
    app.c = await Connection.open(socket, { ...more, onEvent: (e) => { everything.push(JSON.stringify(e)); app.events.push(e); app.wake.splice(0).forEach((w) => w()); } });
    const { request } = app.c;
    app.c.request = async function (method, payload, o = {}) {
      const answer = await request.call(this, method, payload, o);
      if (!["executor.create", "executor.rotate", "session.claim"].includes(method)) everything.push(JSON.stringify(answer));
      return answer;
    };
    return app;
  }
  async event(name, match = () => true) {
    for (;;) {
      const i = this.events.findIndex((e) => e.event === name && match(e));
      if (i >= 0) return this.events.splice(i, 1)[0];
      await new Promise((resolve) => this.wake.push(resolve));
    }
  }
  async claim(session, mode = "claim") {
    const a = await this.c.change("session.claim", { mode }, { session });
    secrets.add(a.control.grant_id);
    this.at = { session, control: a.control };
    return a.snapshot;
  }
  async attach() {
    const made = await this.c.change("executor.create", {});
    secrets.add(made.resume_secret);
    await this.c.change("executor.confirm", { executor_id: made.executor_id, resume_secret: made.resume_secret });
    this.executor = { executor_id: made.executor_id, executor_generation: 1 };
    this.proof = made.resume_secret;
  }
  register(kind, name, source, expected_revision = null, description = `${name} of the story`) {
    return this.c.change("session.resources.register", { expected_revision, resource: { kind, name, description, source } }, this.at);
  }
  list() { return this.c.request("session.resources.list", {}, this.at); }
  async start(prompt, change = {}) {
    const { registry_revision, entries } = await this.list();
    const tools = entries.filter((e) => e.kind === "tool").map(({ resource_id, revision_id, revision_sha256 }) => ({ resource_id, revision_id, revision_sha256 }));
    const application = { expected_registry_revision: registry_revision, ...(tools.length ? this.executor : { executor_id: null, executor_generation: null }), tool_authorizations: tools, ...change };
    return this.c.change("turn.start", { prompt, application }, this.at);
  }
  result({ payload: p }, outcome, change = {}) {
    const { turn_id, call_id, resource_id, revision_id, revision_sha256 } = p;
    return this.c.change("turn.application_tool_result", { turn_id, call_id, ...this.executor, resource_id, revision_id, revision_sha256, outcome, ...change }, { session: this.at.session });
  }
}

const chapters = {
  async "the daemon is started once and answers whoever asks"() {
    const first = JSON.parse(steward("daemon", "start-or-connect"));
    assert.deepEqual(Object.keys(first), ["status", "version", "workspace", "state_root", "socket"]);
    assert.equal(first.status, "started");
    assert.equal(JSON.parse(steward("daemon", "start-or-connect")).status, "connected");
    this.socket = first.socket;
  },

  async "retired profiles and unknown shapes are refused"() {
    for (const [token, code] of [["application_callbacks_inline_v1", "unsupported_capability"], ["application_callbacks_session_v1", "unsupported_capability"]]) {
      const c = await Connection.open(this.socket, { handshake: false });
      await refuses(code, c.request("initialize", { requested_capabilities: [token] }), token);
      await c.close();
    }
    const plain = await App.open(this.socket, { profile: false });
    assert.equal(plain.c.capabilities.application_callbacks, undefined);
    await refuses("unsupported_capability", plain.c.request("session.resources.list", {}, { session: "x", control: { grant_id: "y", generation: 1 } }), "a profile's method");
    const { session_id: session } = await plain.c.change("session.create", {});
    await plain.claim(session);
    await refuses("unsupported_capability", plain.c.change("turn.start", { prompt: "x", application: { expected_registry_revision: "r", executor_id: null, executor_generation: null, tool_authorizations: [] } }, plain.at), "application on an ordinary connection");
    await plain.c.close();
    for (const line of ["", "{", "{} {}", "{\"a\":1,\"a\":2}", "\ufeff{}", "\"\\ud800\"", "x".repeat(70_000)]) {
      const c = await Connection.open(this.socket, { handshake: false });
      c.socket.write(line + "\n");
      await c.closed;
      assert.ok(["malformed_record", "record_too_large"].includes(c.goodbye?.code), `${line.slice(0, 20)}: ${JSON.stringify(c.goodbye)}`);
    }
  },

  async "every form of the rejection corpus is refused, and nothing comes of it"() {
    const c = await Connection.open(this.socket);
    const waiting = [];
    const before = JSON.stringify(await c.request("session.list", {}));
    c.record = (line) => waiting.shift()(JSON.parse(line));
    const ask = (change) => new Promise((resolve) => {
      waiting.push(resolve);
      const whole = {
        protocol_version: 2, kind: "request", request_id: "corpus", instance_id: c.instance, connection_id: c.connection,
        session_id: null, operation_id: null, control: null, method: "status", payload: {}, ...change,
      };
      c.socket.write(JSON.stringify(whole) + "\n");
    });
    let count = 0;
    for (const [what, change, codes] of forms(methodsOf())) {
      const r = await Promise.race([ask(change), c.closed.then(() => ({ error: { code: "closed" } }))]);
      assert.ok(codes.includes(r.error?.code), `${what}: ${JSON.stringify(r.error ?? r.payload)}`);
      count++;
    }
    delete c.record;
    const after = JSON.stringify(await c.request("session.list", {}));
    const s = await c.request("status", {});
    assert.equal(after, before);
    assert.deepEqual([s.active_turns, s.claimed_sessions], [0, 0]);
    assert.ok(count > 700, `${count} forms`);
    console.log(`   ${count} forms`);
    await c.close();
  },

  async "a session is lent two tools and a skill, captured from files"() {
    const app = this.app = await App.open(this.socket, { name: "story" });
    const callbacks = app.c.capabilities.application_callbacks;
    assert.equal(callbacks.profile, "application_resources_v1");
    assert.deepEqual(callbacks.source_kinds, ["inline", "workspace_file"]);
    const { session_id: session } = await app.c.change("session.create", { title: "the story" });
    await app.claim(session);
    await app.attach();
    this.texts = { alpha: contract(["city"], ["weather"]), beta: contract(["note"], ["stored"], { timeout_ms: 5000 }), guide: "Speak in ORIGINAL words." };
    put("lent/alpha.json", this.texts.alpha);
    put("lent/beta.json", this.texts.beta);
    put("lent/guide.md", this.texts.guide);
    this.entries = {};
    for (const [kind, name, path] of [["tool", "alpha", "lent/alpha.json"], ["tool", "beta", "lent/beta.json"], ["skill", "guide", "lent/guide.md"]]) {
      const { entry } = await app.register(kind, name, file(path));
      assert.equal(entry.content_sha256, contentHash(this.texts[name]));
      assert.equal(entry.revision_sha256, revisionHash(kind, name, `${name} of the story`, this.texts[name]));
      assert.equal(entry.captured_bytes, Buffer.byteLength(this.texts[name]));
      assert.equal(entry.registered_by.connection_id, app.c.connection);
      this.entries[name] = entry;
    }
    const listed = await app.list();
    assert.deepEqual(listed.entries.map((e) => `${e.kind} ${e.name}`), ["skill guide", "tool alpha", "tool beta"]);
  },

  async "metadata alone makes a new revision of the same content"() {
    const before = this.entries.alpha;
    const { entry } = await this.app.register("tool", "alpha", file("lent/alpha.json"), before.revision_id, "another description");
    assert.equal(entry.resource_id, before.resource_id);
    assert.notEqual(entry.revision_id, before.revision_id);
    assert.equal(entry.content_sha256, before.content_sha256);
    assert.notEqual(entry.revision_sha256, before.revision_sha256);
    await refuses("conflict", this.app.register("tool", "alpha", file("lent/alpha.json"), before.revision_id), "a stale revision");
    this.entries.alpha = entry;
  },

  async "sources that may not be captured are refused, and nothing changes"() {
    const { app } = this;
    const before = await app.list();
    mkdirSync(join(workspace, "odd"));
    writeFileSync(join(folder, "outside.json"), contract(["x"], ["y"]));
    symlinkSync(join(folder, "outside.json"), join(workspace, "odd/link.json"));
    symlinkSync(join(workspace, "lent"), join(workspace, "odd/folder"));
    put("odd/hard.json", contract(["x"], ["y"]));
    linkSync(join(workspace, "odd/hard.json"), join(folder, "second.json"));
    spawnSync("mkfifo", [join(workspace, "odd/fifo.json")]);
    put("odd/latin.md", Buffer.from([0x63, 0xe9]));
    put("odd/nul.md", "a\0b");
    put("odd/large.md", "x".repeat(16 * 1024 + 1));
    put("odd/huge.json", JSON.stringify({ ...JSON.parse(contract(["x"], ["y"])), pad: "x".repeat(33 * 1024) }));
    put(".env", "SECRET=1");
    put("odd/server.KEY", "SECRET");
    for (const path of ["odd/link.json", "odd/folder/alpha.json", "odd/hard.json", "odd/fifo.json", "odd/none.json", "odd", "/etc/passwd", "../outside.json", "odd/../lent/alpha.json", "odd//x", "./odd/x", "", "odd/", "a".repeat(1025)]) {
      await refuses("invalid_payload", app.register("tool", "odd", file(path)), path);
    }
    for (const path of ["odd/latin.md", "odd/nul.md", ".env", "odd/server.KEY"]) await refuses("invalid_payload", app.register("skill", "odd", file(path)), path);
    await refuses("limit_exceeded", app.register("skill", "odd", file("odd/large.md")), "a large skill");
    await refuses("limit_exceeded", app.register("tool", "odd", file("odd/huge.json")), "a huge tool");
    const good = JSON.parse(contract(["x"], ["y"]));
    for (const bad of ["{", "[]", `{"input_schema":{},"input_schema":{}}`, JSON.stringify({ ...good, more: 1 }), JSON.stringify({ input_schema: good.input_schema }),
      ...[null, 999, 600_001, 1000.5, "5000"].map((timeout_ms) => JSON.stringify({ ...good, timeout_ms })),
      JSON.stringify({ ...good, input_schema: { ...good.input_schema, additionalProperties: true } }), JSON.stringify({ ...good, input_schema: { ...good.input_schema, title: "x" } }),
      JSON.stringify({ ...good, input_schema: { type: "object", properties: { x: { type: "object" } }, required: ["x"], additionalProperties: false } }),
      JSON.stringify({ ...good, output_schema: { type: "object", properties: { y: { type: "string", maxLength: 4097 } }, required: ["y"], additionalProperties: false } })]) {
      await refuses("invalid_payload", app.register("tool", "odd", inline(bad)), bad.slice(0, 60));
    }
    for (const name of ["Alpha", "1x", "", "a".repeat(49), "ä"]) await refuses("invalid_payload", app.register("tool", name, inline(contract(["x"], ["y"]))), name);
    for (const name of ["read_file", "delegate", "mcp_x", "read_resource"]) await refuses("conflict", app.register("tool", name, inline(contract(["x"], ["y"]))), name);
    await refuses("conflict", app.register("skill", "alpha", inline("x")), "a name of another kind");
    await refuses("invalid_payload", app.c.change("session.resources.register", { expected_revision: null, resource: { kind: "tool", name: "old", description: "d", contract: {} } }, app.at), "a legacy shape");
    await refuses("resource_not_found", app.c.change("session.resources.unregister", { resource_id: "A".repeat(22), expected_revision: "A".repeat(22) }, app.at), "an absent resource");
    assert.deepEqual(await app.list(), before);
  },

  async "a turn needs the exact set of tools, a live executor and control"() {
    const { app } = this;
    const { entries } = await app.list();
    const all = entries.filter((e) => e.kind === "tool").map(({ resource_id, revision_id, revision_sha256 }) => ({ resource_id, revision_id, revision_sha256 }));
    await refuses("invalid_payload", app.start("x", { tool_authorizations: all.slice(1) }), "a missing tool");
    await refuses("invalid_payload", app.start("x", { tool_authorizations: [...all, all[0]] }), "a tool twice");
    await refuses("conflict", app.start("x", { tool_authorizations: [all[0], { ...all[1], revision_id: "A".repeat(22) }] }), "a stale tool");
    await refuses("conflict", app.start("x", { expected_registry_revision: "A".repeat(22) }), "a stale registry");
    await refuses("stale_connection", app.start("x", { executor_generation: 2 }), "another generation");
    await refuses("unsupported_capability", app.c.change("turn.start", { prompt: "x" }, app.at), "no application with a registry");
    await refuses("stale_control", app.c.change("turn.start", { prompt: "x" }, { ...app.at, control: { ...app.at.control, grant_id: "A".repeat(43) } }), "another's control");
    assert.equal(model.questions.length, 0);
  },

  async "what was accepted is what the turn sees, whatever is changed meanwhile"() {
    const { app, entries } = this;
    let release;
    model.will(new Promise((resolve) => { release = () => resolve([{ text: "Looking. " }, { calls: [{ id: "a1", name: "alpha", arguments: { city: "Oslo" } }, { id: "b1", name: "beta", arguments: { note: "canary-argument" } }] }]); }));
    model.will([{ text: "Done with ORIGINALS." }]);
    const accepted = await app.start("use both tools");
    this.turn = accepted.turn_id;
    this.manifest = accepted.application_manifest;
    assert.deepEqual(this.manifest.tools.map((t) => [t.name, t.revision_id]), [["alpha", entries.alpha.revision_id], ["beta", entries.beta.revision_id]]);
    assert.equal(this.manifest.accepted_executor.executor_id, app.executor.executor_id);
    assert.equal(this.manifest.tools[1].timeout_ms, 5000);
    const asked = await model.asked(1);
    this.offered = asked.tools.filter((t) => ["alpha", "beta"].includes(t.function.name));
    assert.deepEqual(this.offered.map((t) => t.function.parameters), [JSON.parse(this.texts.alpha).input_schema, JSON.parse(this.texts.beta).input_schema]);
    assert.match(asked.messages[0].content, /ORIGINAL words/);
    // The model is held. Files change, resources go, others take their names.
    put("lent/alpha.json", "{ broken");
    put("lent/beta.json", contract(["changed"], ["changed"]));
    put("lent/guide.md", "Speak in REPLACED words.");
    for (const name of ["alpha", "beta"]) await app.c.change("session.resources.unregister", { resource_id: entries[name].resource_id, expected_revision: entries[name].revision_id }, app.at);
    this.replaced = {};
    for (const name of ["alpha", "beta"]) {
      this.replaced[name] = (await app.register("tool", name, inline(contract([`new_${name}`], ["ok"])))).entry;
      assert.notEqual(this.replaced[name].resource_id, entries[name].resource_id);
    }
    this.replaced.guide = (await app.register("skill", "guide", file("lent/guide.md"), entries.guide.revision_id)).entry;
    assert.equal(this.replaced.guide.resource_id, entries.guide.resource_id);
    release();
    const calls = {};
    for (const name of ["alpha", "beta"]) {
      const call = calls[name] = await app.event("turn.application_tool_call", (e) => e.payload.name === name);
      for (const member of ["resource_id", "revision_id", "revision_sha256"]) assert.equal(call.payload[member], entries[name][member], `${name} ${member}`);
      assert.deepEqual([call.operation_id, call.grant_generation, call.live_sequence, call.session_id], [null, null, null, app.at.session]);
    }
    this.calls = calls;
    const pending = await app.c.request("turn.application_evidence", { turn_id: this.turn }, app.at);
    assert.deepEqual(pending.calls.map((c) => [c.name, c.status, c.external_effects, c.wait_kind]).sort(), [["alpha", "pending", "uncertain", "execution"], ["beta", "pending", "uncertain", "execution"]]);
    await refuses("invalid_payload", app.result(calls.alpha, { status: "success", value: { weather: "rain" } }, { revision_id: this.replaced.alpha.revision_id }), "the replacement's revision");
    await refuses("invalid_payload", app.result(calls.alpha, { status: "success", value: { ok: "x" } }), "the replacement's schema");
    assert.deepEqual(await app.result(calls.alpha, { status: "success", value: { weather: "rain" } }), { call_id: calls.alpha.payload.call_id, status: "accepted" });
    await refuses("unknown_turn", app.result(calls.alpha, { status: "success", value: { weather: "rain" } }), "a settled call");
    await app.result(calls.beta, { status: "error", code: "permission_denied", message: "the user said no" });
    const second = await model.asked(2);
    assert.deepEqual(second.tools, asked.tools);
    assert.equal(second.messages[0].content, asked.messages[0].content);
    const told = second.messages.filter((m) => m.role === "tool");
    assert.deepEqual(told.map((m) => m.tool_call_id), ["a1", "b1"]);
    assert.equal(told[0].content, `{"weather":"rain"}`);
    assert.match(told[1].content, /permission_denied.*the user said no/);
    const { payload: end } = await app.event("turn.terminal");
    assert.equal(end.status, "completed");
    assert.equal(end.assistant_text, "Looking. Done with ORIGINALS.");
    assert.deepEqual(end.application_manifest, this.manifest);
  },

  async "evidence tells the original triples, to a controller alone, and nothing of the content"() {
    const { app, entries } = this;
    const evidence = await app.c.request("turn.application_evidence", { turn_id: this.turn }, app.at);
    assert.deepEqual(evidence.application_manifest, this.manifest);
    assert.deepEqual(evidence.calls.map((c) => [c.name, c.status, c.external_effects, c.revision_id, c.wait_kind, c.remaining_ms]).sort(), [
      ["alpha", "succeeded", "reported", entries.alpha.revision_id, null, null],
      ["beta", "failed", "reported", entries.beta.revision_id, null, null],
    ]);
    assert.doesNotMatch(JSON.stringify(evidence), /canary-argument|Oslo|rain|user said no|lent\//);
    const other = await App.open(this.socket);
    await refuses("stale_control", other.c.request("turn.application_evidence", { turn_id: this.turn }, app.at), "another's connection");
    const snapshot = await other.claim(app.at.session, "takeover");
    assert.equal((await app.event("control.revoked")).payload.reason, "takeover");
    assert.deepEqual(snapshot.terminal.application_manifest, this.manifest);
    assert.deepEqual(await other.c.request("turn.application_evidence", { turn_id: this.turn }, other.at), evidence);
    await refuses("unknown_turn", other.c.request("turn.application_evidence", { turn_id: "A".repeat(22) }, other.at), "an unknown turn");
    await refuses("stale_control", app.list(), "control that was taken");
    await other.c.change("session.detach", {}, other.at);
    await other.c.close();
    await app.claim(app.at.session);
  },

  async "later turns see what was put in the place"() {
    const { app } = this;
    model.will([{ calls: [{ id: "a2", name: "alpha", arguments: { new_alpha: "x" } }] }]);
    model.will([{ text: "Now REPLACED." }]);
    await app.start("again");
    const asked = await model.asked(3);
    assert.match(asked.messages[0].content, /REPLACED words/);
    assert.doesNotMatch(asked.messages[0].content, /ORIGINAL/);
    assert.deepEqual(asked.tools.find((t) => t.function.name === "alpha").function.parameters.required, ["new_alpha"]);
    assert.deepEqual(asked.messages.filter((m) => m.role === "user").map((m) => m.content), ["use both tools", "again"]);
    const call = await app.event("turn.application_tool_call");
    assert.equal(call.payload.revision_id, this.replaced.alpha.revision_id);
    await app.result(call, { status: "success", value: { ok: "yes" } });
    assert.equal((await app.event("turn.terminal")).payload.assistant_text, "Now REPLACED.");
  },

  async "an executor that comes back settles its call and runs nothing again"() {
    const { app } = this;
    model.will([{ calls: [{ id: "a3", name: "alpha", arguments: { new_alpha: "y" } }] }]);
    model.will([{ text: "Back." }]);
    const { turn_id } = await app.start("and lose the connection");
    const call = await app.event("turn.application_tool_call");
    const session = app.at.session;
    await app.c.close();
    const back = this.app = await App.open(this.socket);
    const rotated = await back.c.change("executor.resume", { executor_id: app.executor.executor_id, resume_secret: app.proof });
    assert.equal(rotated.executor_generation, 2);
    assert.deepEqual(rotated.pending_calls.map((p) => [p.call_id, p.status, p.external_effects]), [[call.payload.call_id, "pending", "uncertain"]]);
    assert.doesNotMatch(JSON.stringify(rotated), /new_alpha/);
    back.executor = { executor_id: app.executor.executor_id, executor_generation: 1 };
    back.at = { session };
    await refuses("stale_connection", back.result(call, { status: "success", value: { ok: "z" } }), "the generation before");
    back.executor.executor_generation = 2;
    await back.result(call, { status: "success", value: { ok: "z" } });
    const snapshot = await back.claim(session);
    const end = snapshot.terminal?.turn_id === turn_id ? snapshot.terminal : (await back.event("turn.terminal")).payload;
    assert.equal(end.assistant_text, "Back.");
    assert.equal(back.events.filter((e) => e.event === "turn.application_tool_call").length, 0);
  },

  async "the example's executor forgets nothing, whatever is refused or overtaken"() {
    const path = join(folder, "private", "memory.json");
    const sent = [];
    // A daemon of the chapter's own: it answers as told and says what it was told.
    const daemon = (answers) => {
      const c = { instance: "I", closed: false, close() { this.closed = true; } };
      c.change = async (method, payload) => {
        sent.push([method, payload.call_id, payload.outcome?.message ?? payload.outcome?.value]);
        return (await answers[method]?.(payload)) ?? { executor_id: "E", resume_secret: "P", executor_generation: 1, pending_calls: [] };
      };
      return c;
    };
    const refuse = (code) => () => { throw new Refused("x", { code, message: "" }); };
    const call = (call_id, name = "act") => ({ session_id: "S", payload: { turn_id: "T", call_id, name, arguments: {} } });
    const pending = (...ids) => ids.map((call_id) => ({ session_id: "S", turn_id: "T", call_id, status: "pending" }));
    const results = () => sent.splice(0).filter(([m]) => m === "turn.application_tool_result").map((s) => s.slice(1));
    const lost = () => { throw new Error("the connection is lost"); };
    const handlers = {
      act: async () => ({ done: "yes" }),
      long: async () => ({ done: "x".repeat(17_000) }),
      deep: async () => ({ done: [[1]] }),
      half: async () => { throw new Error("\ud83d\0"); },
    };
    let executor = new Executor(new Memory(path), handlers);
    await executor.attach(daemon({ "turn.application_tool_result": lost }));
    await executor.take(call("1"));
    for (const code of ["limit_exceeded", "shutting_down", "conflict"]) await assert.rejects(executor.attach(daemon({ "executor.resume": refuse(code) })), { code });
    // Its successor has the file. While it settles 1, call 2 comes and is over, and
    // the connection is lost before that is told.
    results();
    executor = new Executor(new Memory(path), handlers);
    let taken;
    await executor.attach(daemon({
      "executor.resume": () => ({ executor_generation: 2, pending_calls: pending("1") }),
      "turn.application_tool_result": async ({ call_id }) => {
        if (call_id === "2") lost();
        taken = executor.take(call("2"));
        while (executor.running.has("2")) await new Promise((resolve) => setImmediate(resolve));
      },
    }));
    await taken;
    assert.deepEqual(results(), [["1", { done: "yes" }], ["2", { done: "yes" }]]);
    executor = new Executor(new Memory(path), handlers);
    await executor.attach(daemon({ "executor.resume": () => {
      taken = executor.take(call("3")); // with the answer, before the generation is known
      return new Promise((resolve) => setTimeout(() => resolve({ executor_generation: 3, pending_calls: pending("2") }), 20));
    } }));
    await taken;
    for (const name of ["long", "deep", "half"]) await executor.take(call(name, name));
    assert.deepEqual(results(), [["2", { done: "yes" }], ["3", { done: "yes" }], ["long", "the call ran, but its result is too large"],
      ["deep", "the call ran, but its result does not fit the tool's output schema"], ["half", "\ufffd?"]]);
    assert.deepEqual(new Memory(path).state.calls, {});
  },

  async "no lost reply of a rotation locks the executor out"() {
    this.other = await App.open(this.socket);
    await this.other.attach();
    const { proof } = this.other;
    const rotate = async (a, generation) => {
      const r = await a.c.change("executor.rotate", { executor_id: this.other.executor.executor_id, executor_generation: generation });
      assert.equal(r.status, "rotation_pending");
      secrets.add(r.resume_secret);
      return r.resume_secret;
    };
    const resume = async (secret) => {
      const a = await App.open(this.socket);
      const r = await a.c.change("executor.resume", { executor_id: this.other.executor.executor_id, resume_secret: secret });
      return [a, r.executor_generation];
    };
    let candidate = await rotate(this.other, 1); // the reply is lost: the old proof still counts
    let [a, generation] = await resume(proof);
    assert.equal(generation, 2);
    await refuses("stale_connection", resume(candidate).then(([x]) => x), "a cancelled candidate");
    candidate = await rotate(a, 2); // the confirmation's reply is lost: the new proof counts
    await a.c.change("executor.rotate_confirm", { executor_id: this.other.executor.executor_id, executor_generation: 2, resume_secret: candidate });
    await refuses("stale_connection", resume(proof).then(([x]) => x), "a proof that was replaced");
    [a, generation] = await resume(candidate);
    assert.equal(generation, 3);
    await a.c.change("executor.release", { executor_id: this.other.executor.executor_id, executor_generation: 3 });
    await refuses("stale_connection", resume(candidate).then(([x]) => x), "a released executor");
  },

  async "nothing that was sent or kept tells a secret or a path"() {
    const lookups = [];
    const op = operation();
    const made = await this.app.c.request("executor.create", {}, { op }).catch((e) => e);
    if (made.resume_secret) secrets.add(made.resume_secret);
    lookups.push(JSON.stringify(await this.app.c.request("operation.lookup", { operation_id: op })));
    await refuses("operation_already_known", this.app.c.request("executor.create", {}, { op }), "the operation again");
    const all = everything.concat(lookups).join("\n");
    for (const s of [...secrets, "sk-canary-model-key", "lent/", workspace]) assert.ok(!all.includes(s), `${s} was told`);
    const log = readFileSync(join(state, "daemon.log"), "utf8");
    for (const s of [...secrets, "sk-canary-model-key", "canary-argument"]) assert.ok(!log.includes(s), `the log tells ${s}`);
    const replay = steward("session", "replay", this.app.at.session);
    for (const s of [...secrets, "canary-argument", "rain", "lent/"]) assert.ok(!replay.includes(s), `the replay tells ${s}`);
    assert.match(replay, /"kind":"turn_status"/);
  },

  async "a full house turns one more away, and stale guests disturb nobody"() {
    const guests = [];
    const open = async (handshake) => {
      const c = await Connection.open(this.socket, { handshake, profile: false }).catch((e) => e);
      guests.push(c);
      return c;
    };
    for (let i = 0; i < 70; i++) await open(true);
    const inside = guests.filter((c) => c instanceof Connection && !c.socket.destroyed && c.capabilities);
    assert.ok(inside.length >= 50 && inside.length < 64, `${inside.length} connections are in`);
    const slow = [];
    const stale = Number(process.env.STEWARD_STALE ?? 300);
    for (let i = 0; i < stale; i++) {
      await open(false);
      if (i % 10) continue;
      const began = process.hrtime.bigint();
      await inside[i % inside.length].request("status", {});
      slow.push(Number(process.hrtime.bigint() - began) / 1e6);
    }
    slow.sort((a, b) => a - b);
    console.log(`   status beside ${stale} stale guests: p99 ${slow[Math.floor(slow.length * 0.99)].toFixed(1)} ms`);
    await Promise.all(guests.map((g) => g instanceof Connection && g.close()));
    // The daemon sees the end of a connection a moment after its guest.
    for (let inside; !inside; ) {
      inside = await Connection.open(this.socket, { profile: false }).catch(() => null);
      await (inside ? inside.close() : new Promise((resolve) => setTimeout(resolve, 10)));
    }
  },

  async "the daemon stops when nothing runs, and not before"() {
    let release;
    model.will(new Promise((resolve) => { release = () => resolve([{ text: "late" }]); }));
    const app = await App.open(this.socket);
    const { session_id: session } = await app.c.change("session.create", {});
    await app.claim(session);
    await app.c.change("turn.start", { prompt: "hold" }, app.at);
    await app.event("turn.started");
    const refused = spawnSync(program, ["daemon", "stop", ...where], { env, encoding: "utf8" });
    assert.equal(refused.status, 10, refused.stderr);
    release();
    await app.event("turn.terminal");
    assert.equal(JSON.parse(steward("daemon", "stop")).status, "stopped");
    assert.equal(spawnSync(program, ["daemon", "status", ...where], { env }).status, 10);
  },
};

const told = {};
let failed = false;
for (const [name, play] of Object.entries(chapters)) {
  const tooLong = setTimeout(() => { console.log(`   ${name}: nothing happens`); process.exit(1); }, 60_000);
  try {
    await play.call(told);
    console.log(`ok ${name}`);
  } catch (e) {
    console.log(`not ok ${name}\n${e.stack}`);
    failed = true;
    break;
  } finally {
    clearTimeout(tooLong);
  }
}
spawnSync(program, ["daemon", "stop", ...where], { env });
model.close();
process.exit(failed ? 1 : 0);
