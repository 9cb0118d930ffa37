// The part of the conformance server that streams: progress, log messages, and changes of the lists.

import { setTimeout as sleep } from 'node:timers/promises';
import { fromJsonSchema, inputRequired } from '@modelcontextprotocol/server';

const NO_INPUT = fromJsonSchema({ type: 'object' });
const done = { content: [{ type: 'text', text: 'done' }] };

/** `notify` publishes to the open `subscriptions/listen` streams. */
export function registerStreams(server, notify) {
  const tool = (name, description, run) =>
    server.registerTool(name, { description, inputSchema: NO_INPUT }, (_input, ctx) => run(ctx));
  tool('test_tool_with_progress', 'Reports progress three times.', reportProgress);
  tool('test_streaming_elicitation', 'Reports progress, then asks back.', askAfterProgress);
  tool('test_logging_tool', 'Logs.', log);
  tool('test_trigger_tool_change', 'Says that the tools changed.', () => {
    notify().toolsChanged();
    return done;
  });
  tool('test_trigger_prompt_change', 'Says that the prompts changed.', () => {
    notify().promptsChanged();
    return done;
  });
}

async function progress(ctx, value) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress: value, total: 100 } });
}

async function reportProgress(ctx) {
  for (const value of [0, 50, 100]) {
    await progress(ctx, value);
    await sleep(50);
  }
  return done;
}

async function askAfterProgress(ctx) {
  await progress(ctx, 50);
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
  return inputRequired({
    inputRequests: { name: inputRequired.elicit({ message: 'What is your name?', requestedSchema }) },
  });
}

async function log(ctx) {
  await ctx.mcpReq.log('info', 'a message for whoever asked for messages');
  return done;
}
