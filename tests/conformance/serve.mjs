// Serves the conformance server on 127.0.0.1, behind the guards that a server on a loopback address needs.

import { createServer } from 'node:http';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';

const hostAllowed = localhostHostValidation();
const originAllowed = localhostOriginValidation();

/**
 * Listens, prints `listening on http://127.0.0.1:PORT/mcp`, ends on SIGTERM and SIGINT.
 * `repair`, if given, gets the request's body (an object) and the headers, and returns the headers the SDK shall see.
 */
export function serve(port, mcpHandler, repair) {
  const plain = toNodeHandler(mcpHandler);
  const http = createServer((request, response) => {
    if (new URL(request.url, 'http://any').pathname !== '/mcp') response.writeHead(404).end();
    else if (!hostAllowed(request, response) || !originAllowed(request, response)) return;
    else if (repair && request.method === 'POST') repaired(request, response, plain, repair);
    else plain(request, response);
  });
  http.listen(port, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${http.address().port}/mcp`));
  for (const signal of ['SIGTERM', 'SIGINT']) {
    process.once(signal, () => {
      http.closeAllConnections();
      http.close(() => process.exit(0));
    });
  }
}

async function repaired(request, response, handler, repair) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  let body;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    response.writeHead(400).end();
    return;
  }
  request.headers = repair(body, request.headers);
  // The SDK's adapter builds its request from the raw list.
  request.rawHeaders = Object.entries(request.headers).flat();
  handler(request, response, body);
}
