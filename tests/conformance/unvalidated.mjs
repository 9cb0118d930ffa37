// A server that believes the body alone: the `Mcp-*` headers of a request are thrown away and written anew from its body
// before the SDK sees them, so that the SDK finds nothing to refuse.

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';

/** `annotated`: for each tool, its argument names and the header names that its schema gives them. */
export function headersFromBody(annotated) {
  return (body, headers) => {
    const others = Object.entries(headers).filter(([name]) => !name.startsWith('mcp-'));
    return { ...Object.fromEntries(others), ...mirrored(body, annotated) };
  };
}

function mirrored({ method, params }, annotated) {
  const headers = {};
  const version = params?._meta?.[VERSION_KEY];
  headers['mcp-protocol-version'] = typeof version === 'string' ? version : '2026-07-28';
  if (typeof method === 'string') headers['mcp-method'] = method;
  const name = params?.name ?? params?.uri ?? params?.taskId;
  if (typeof name === 'string') headers['mcp-name'] = sentinel(name);
  for (const [argument, header] of Object.entries(annotated[name] ?? {})) {
    const value = params?.arguments?.[argument];
    if (value !== undefined && value !== null) headers[`mcp-param-${header.toLowerCase()}`] = sentinel(String(value));
  }
  return headers;
}

function sentinel(value) {
  return `=?base64?${Buffer.from(value).toString('base64')}?=`;
}
