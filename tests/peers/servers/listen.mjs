// Serves an MCP handler of the TypeScript SDK on 127.0.0.1 and says where, as the first line on stdout.

import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

/** `--port N` (0 = any free port) and `--name NAME`. */
export function readArguments(defaultName) {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '0' }, name: { type: 'string', default: defaultName } },
  });
  return { port: Number(values.port), name: values.name };
}

/** Listens and prints `listening on http://127.0.0.1:PORT/mcp`. Ends on SIGTERM and SIGINT, open streams included. */
export function listen(port, handler) {
  const http = createServer((request, response) => {
    if (new URL(request.url, 'http://any').pathname !== '/mcp') {
      response.writeHead(404).end();
      return;
    }
    handler(request, response);
  });
  http.listen(port, '127.0.0.1', () => {
    console.log(`listening on http://127.0.0.1:${http.address().port}/mcp`);
  });
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, () => {
      http.closeAllConnections();
      http.close(() => process.exit(0));
    });
  }
}
