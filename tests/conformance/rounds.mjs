// The part of the conformance server that asks back: tools and a prompt that need more than one round trip, and what the
// client said it can do.

import {
  acceptedContent,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server';

const NO_INPUT = fromJsonSchema({ type: 'object' });
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities';
const said = (value) => ({ content: [{ type: 'text', text: value }] });

const state = createRequestStateCodec({ key: `a key for tests only, the same in every process: ${'x'.repeat(16)}` });
export const verifyState = state.verify;

const form = (message, field, type = 'string') =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [field]: { type } }, required: [field] },
  });
const sample = (question) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: question } }],
    maxTokens: 100,
  });

/** The field of an accepted form, or `undefined`. */
const field = (ctx, key, name) => acceptedContent(ctx.mcpReq.inputResponses, key)?.[name];
const kind = (ctx, key) => inputResponse(ctx.mcpReq.inputResponses, key).kind;

export function registerRounds(server) {
  const tool = (name, description, run) =>
    server.registerTool(`test_input_required_result_${name}`, { description, inputSchema: NO_INPUT }, (_input, ctx) =>
      run(ctx),
    );
  tool('elicitation', 'Asks for a name.', askName);
  tool('sampling', 'Asks the model.', askModel);
  tool('list_roots', 'Asks for the roots.', askRoots);
  tool('request_state', 'Asks, and keeps state with the client.', confirm);
  tool('tampered_state', 'Refuses state that was changed.', confirm);
  tool('multiple_inputs', 'Asks three things at once.', askAll);
  tool('multi_round', 'Asks twice.', askTwice);
  tool('capabilities', 'Asks only what the client can answer.', askWhatCanBeAnswered);
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'A prompt that asks back.' },
    promptThatAsks,
  );
  server.registerTool(
    'test_missing_capability',
    { description: 'Needs sampling.', inputSchema: NO_INPUT },
    (_input, ctx) => needSampling(ctx),
  );
}

function askName(ctx) {
  const name = field(ctx, 'user_name', 'name');
  if (typeof name === 'string') return said(`Hello, ${name}!`);
  return inputRequired({ inputRequests: { user_name: form('What is your name?', 'name') } });
}

function askModel(ctx) {
  const answer = inputResponse(ctx.mcpReq.inputResponses, 'capital_question');
  if (answer.kind === 'sampling') return said(JSON.stringify(answer.result.content));
  return inputRequired({ inputRequests: { capital_question: sample('What is the capital of France?') } });
}

function askRoots(ctx) {
  const answer = inputResponse(ctx.mcpReq.inputResponses, 'client_roots');
  if (answer.kind === 'roots') return said(answer.roots.map((root) => root.uri).join(' '));
  return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
}

async function confirm(ctx) {
  if (field(ctx, 'confirm', 'ok') === true && ctx.mcpReq.requestState()?.step === 'confirm') return said('state-ok');
  return inputRequired({
    inputRequests: { confirm: form('Is that so?', 'ok', 'boolean') },
    requestState: await state.mint({ step: 'confirm' }),
  });
}

async function askAll(ctx) {
  const kinds = ['user_name', 'greeting', 'client_roots'].map((key) => kind(ctx, key));
  if (kinds.join() === 'elicit,sampling,roots' && ctx.mcpReq.requestState()?.step === 'all')
    return said('all three are here');
  return inputRequired({
    inputRequests: {
      user_name: form('What is your name?', 'name'),
      greeting: sample('How does one greet?'),
      client_roots: inputRequired.listRoots(),
    },
    requestState: await state.mint({ step: 'all' }),
  });
}

async function askTwice(ctx) {
  const carried = ctx.mcpReq.requestState();
  const color = field(ctx, 'step2', 'color');
  if (carried?.step === 2 && typeof color === 'string') return said(`${carried.name} likes ${color}`);
  const name = field(ctx, 'step1', 'name');
  if (carried?.step === 1 && typeof name === 'string') {
    return inputRequired({
      inputRequests: { step2: form('Which colour?', 'color') },
      requestState: await state.mint({ step: 2, name }),
    });
  }
  return inputRequired({
    inputRequests: { step1: form('What is your name?', 'name') },
    requestState: await state.mint({ step: 1 }),
  });
}

function askWhatCanBeAnswered(ctx) {
  const can = ctx.mcpReq.envelope?.[CAPABILITIES_KEY] ?? {};
  const inputRequests = {};
  if (can.elicitation) inputRequests.name = form('What is your name?', 'name');
  if (can.sampling) inputRequests.greeting = sample('How does one greet?');
  const open = Object.keys(inputRequests).filter((key) => kind(ctx, key) === 'missing');
  return open.length === 0 ? said('nothing left to ask') : inputRequired({ inputRequests });
}

function promptThatAsks(ctx) {
  const context = field(ctx, 'user_context', 'context');
  if (typeof context === 'string')
    return { messages: [{ role: 'user', content: { type: 'text', text: `Mind this: ${context}` } }] };
  return inputRequired({ inputRequests: { user_context: form('What is it about?', 'context') } });
}

/** Asks for what a client must have declared; the SDK refuses it with -32021 if the client did not. */
function needSampling(ctx) {
  const answer = inputResponse(ctx.mcpReq.inputResponses, 'sample');
  if (answer.kind === 'sampling') return said(JSON.stringify(answer.result.content));
  return inputRequired({ inputRequests: { sample: sample('What is the capital of France?') } });
}
