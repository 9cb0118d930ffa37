// A recording HTTP proxy: what really went over the wire between a client and a server, one JSON object per line on stdout
// (after the line that says where it listens). It changes nothing but the address.
//
//   node tools/record.mjs --to http://127.0.0.1:9001/mcp [--port 0]

import { createServer, request as send } from 'node:http';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { to: { type: 'string' }, port: { type: 'string', default: '0' } } });
const upstream = new URL(values.to);
const agent = { host: upstream.hostname, port: upstream.port };

function pairs(rawHeaders) {
  const list = [];
  for (let at = 0; at < rawHeaders.length; at += 2) list.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return list;
}

function collect(stream) {
  const chunks = [];
  stream.on('data', (chunk) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

createServer((request, response) => {
  const sent = collect(request);
  const headers = request.rawHeaders.map((part, at) =>
    request.rawHeaders[at - 1]?.toLowerCase() === 'host' && at % 2 ? upstream.host : part,
  );
  const onward = send({ ...agent, method: request.method, path: request.url, headers }, (answer) => {
    const received = collect(answer);
    response.writeHead(answer.statusCode, answer.rawHeaders);
    answer.pipe(response);
    answer.on('close', () =>
      console.log(
        JSON.stringify({
          request: [`${request.method} ${request.url}`, ...pairs(request.rawHeaders)],
          body: sent(),
          response: [answer.statusCode, ...pairs(answer.rawHeaders)],
          answer: received(),
          leftEarly: !answer.complete,
        }),
      ),
    );
  });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}).listen(Number(values.port), '127.0.0.1', function started() {
  console.log(`listening on http://127.0.0.1:${this.address().port}${upstream.pathname}`);
});
