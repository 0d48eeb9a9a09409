// The rejection corpus: from the published schema, every method with a payload that is
// wrong in one place, every envelope that is, and every method with a session, control
// or operation that it must not have or lacks. Forms gives [what, change, codes]; change
// makes a request that would do wrong into one that must be refused.
import { readFileSync } from "node:fs";

const schema = JSON.parse(readFileSync(new URL("../../docs/reference/sessions.schema.json", import.meta.url), "utf8"));
const wrong = [null, true, 7, 1.5, -1, "", "x\u0000", [], [1], {}, { a: 1 }];

const resolve = (s) => (s.$ref ? schema.$defs[s.$ref.split("/").at(-1)] : s);

// fits says whether a value has the form of a schema, as far as those go that are here.
function fits(s, value) {
  s = resolve(s);
  if (s === true) return true;
  if (s.anyOf && !s.properties) return s.anyOf.some((x) => fits(x, value));
  if (s.enum) return s.enum.includes(value);
  const is = value === null ? "null" : Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;
  if (s.type !== is) return false;
  if (is === "array") return value.every((v) => fits(s.items, v));
  if (is !== "object" || !s.properties) return true;
  return s.required.every((m) => m in value) && Object.entries(value).every(([m, v]) => s.properties[m] && fits(s.properties[m], v));
}

// sample is a value of the form.
function sample(s) {
  s = resolve(s);
  if (s === true) return {};
  if (s.anyOf && !s.properties) return sample(s.anyOf[0]);
  if (s.enum) return s.enum[0];
  if (s.type === "array") return [sample(s.items)];
  if (s.type === "object") return Object.fromEntries(Object.entries(s.properties ?? {}).map(([m, v]) => [m, sample(v)]));
  return { string: "x", integer: 1, boolean: true, null: null }[s.type];
}

// bent gives values that are wrong in one place, each with where.
function* bent(s, value, where = "") {
  for (const w of wrong) if (!fits(s, w)) yield [`${where || "payload"} = ${JSON.stringify(w)}`, w];
  s = resolve(s);
  if (s.anyOf && !s.properties) s = resolve(s.anyOf[0]);
  if (s.type === "array") for (const [what, v] of bent(s.items, value[0], where + "[0]")) yield [what, [v]];
  if (s.type !== "object" || !s.properties) return;
  yield [`${where}.unknown`, { ...value, unknown: 1 }];
  for (const m of Object.keys(value)) {
    if (s.required.includes(m)) yield [`no ${where}.${m}`, Object.fromEntries(Object.entries(value).filter(([n]) => n !== m))];
    yield [`${where}.${m.toUpperCase()}`, Object.fromEntries(Object.entries(value).map(([n, v]) => [n === m ? m.toUpperCase() : n, v]))];
    for (const [what, v] of bent(s.properties[m], value[m], `${where}.${m}`)) yield [what, { ...value, [m]: v }];
  }
}

export function* forms(methods) {
  for (const { name, session, control, operation } of methods) {
    const head = { session_id: session ? "x" : null, control: control ? { grant_id: "x", generation: 1 } : null, method: name };
    const op = () => ({ operation_id: operation ? `corpus-${Math.random()}` : null });
    const payload = sample(schema.payloads[name]);
    for (const [what, p] of bent(schema.payloads[name], payload)) {
      yield [`${name} ${what}`, { ...head, ...op(), payload: p }, ["invalid_payload", "invalid_envelope"]];
    }
    yield [`${name} session`, { ...head, ...op(), session_id: session ? null : "x", payload }, ["invalid_envelope"]];
    yield [`${name} control`, { ...head, ...op(), control: control ? null : { grant_id: "x", generation: 1 }, payload }, ["invalid_envelope"]];
    yield [`${name} operation`, { ...head, operation_id: operation ? null : "x", payload }, ["invalid_envelope"]];
  }
  const request = resolve({ $ref: "#/$defs/Request" });
  for (const m of request.required) {
    if (m === "payload") continue;
    for (const w of wrong) {
      if (fits(request.properties[m], w) && w !== "" && w !== "x\u0000" && !(m === "protocol_version" && w !== 2)) continue;
      const codes = m === "protocol_version" && Number.isInteger(w) ? ["unsupported_version"] : m === "method" ? ["invalid_envelope", "unknown_method"] : ["invalid_envelope"];
      yield [`envelope ${m} = ${JSON.stringify(w)}`, { [m]: w }, codes];
    }
    yield [`envelope without ${m}`, { [m]: undefined }, ["invalid_envelope"]];
  }
  yield ["envelope with another member", { more: 1 }, ["invalid_envelope"]];
}

export const methodsOf = () => {
  const rows = readFileSync(new URL("../../docs/reference/sessions.md", import.meta.url), "utf8").matchAll(/^\| `([a-z._]+)` \| (x?) \| (x?) \| (x?) \| (x?) \|/gm);
  return [...rows].map(([, name, s, c, o]) => ({ name, session: s === "x", control: c === "x", operation: o === "x" })).filter((m) => m.name !== "initialize");
};
