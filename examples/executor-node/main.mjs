// An application that lends one tool to an agent session and asks the agent to use
// it. With the scripted model, tell the model to do so before the daemon starts:
//
//	printf 'on *\ncall clock\nthen\nsay {result}\n' > clock.script
//	export STEWARD_MODEL_SCRIPT="$PWD/clock.script"
//	node main.mjs "$(steward daemon start-or-connect --workspace . | node -p 'JSON.parse(require("fs").readFileSync(0)).socket')" "what time is it?"
import { homedir } from "node:os";
import { join } from "node:path";
import { Connection, Executor, Memory } from "./client.mjs";

const [socket, prompt = "what time is it?"] = process.argv.slice(2);
if (!socket) {
  console.error("usage: node main.mjs SOCKET [PROMPT]");
  process.exit(2);
}

// The file holds the executor's proof, so it is in a private folder and not in the
// workspace, where the agent can read it.
const folder = join(process.env.XDG_STATE_HOME || join(homedir(), ".local", "state"), "executor-node");
const executor = new Executor(new Memory(join(folder, "memory.json")), {
  clock: async () => ({ now: new Date().toISOString() }),
});
let end;
const ended = new Promise((resolve) => { end = resolve; });
const connection = await Connection.open(socket, {
  name: "executor-node",
  onEvent: (e) => {
    if (e.event === "turn.application_tool_call") executor.take(e);
    if (e.event === "turn.delta") process.stdout.write(e.payload.text);
    if (e.event === "turn.terminal") end(e.payload);
  },
});
connection.closed.then(() => end({ status: "failed", error: { code: "the connection was lost" } }));
await executor.attach(connection);

const { session_id: session } = await connection.change("session.create", { title: "executor-node" });
const { control } = await connection.change("session.claim", { mode: "claim" }, { session });
const contract = {
  input_schema: { type: "object", properties: {}, required: [], additionalProperties: false },
  output_schema: { type: "object", properties: { now: { type: "string", maxLength: 40 } }, required: ["now"], additionalProperties: false },
};
const lent = await connection.change("session.resources.register", {
  expected_revision: null,
  resource: { kind: "tool", name: "clock", description: "The time on the user's machine.", source: { kind: "inline", content: JSON.stringify(contract) } },
}, { session, control });
await connection.change("turn.start", {
  prompt,
  application: {
    expected_registry_revision: lent.registry_revision, executor_id: executor.memory.state.executor, executor_generation: executor.generation,
    tool_authorizations: [{ resource_id: lent.entry.resource_id, revision_id: lent.entry.revision_id, revision_sha256: lent.entry.revision_sha256 }],
  },
}, { session, control });
const terminal = await ended;
console.log(terminal.error ? `\n${terminal.error.code}` : "");
await connection.close();
process.exitCode = terminal.status === "completed" ? 0 : 1;
