// A language model of the suite's own: an HTTP server on loopback that speaks the
// Chat Completions form, keeps every question, and answers when it is told to.
import { createServer } from "node:http";

export async function startModel() {
  const questions = [];
  const answers = [];
  const waiting = [];
  const server = createServer(async (req, res) => {
    let body = "";
    for await (const chunk of req) body += chunk;
    questions.push(JSON.parse(body));
    waiting.shift()?.();
    const answer = await answers.shift();
    res.writeHead(200, { "content-type": "text/event-stream" });
    for (const part of answer ?? [{ text: "" }]) {
      const delta = part.text !== undefined ? { content: part.text }
        : { tool_calls: part.calls.map((c, index) => ({ index, id: c.id, type: "function", function: { name: c.name, arguments: JSON.stringify(c.arguments) } })) };
      res.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`);
    }
    const finish = answer?.some((p) => p.calls) ? "tool_calls" : "stop";
    res.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: finish }] })}\n\ndata: [DONE]\n\n`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    questions,
    // will queues an answer: a list of parts, or a promise of one, for which the
    // question then waits.
    will: (answer) => answers.push(Promise.resolve(answer)),
    // asked resolves when there are n questions.
    async asked(n) {
      while (questions.length < n) await new Promise((resolve) => waiting.push(resolve));
      return questions[n - 1];
    },
    close: () => { server.closeAllConnections(); server.close(); },
  };
}
