// The part of the conformance server that answers at once: tools, resources and prompts with fixed content.

import { completable, fromJsonSchema, ResourceTemplate } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { PNG, WAV } from './samples.mjs';

const NO_INPUT = fromJsonSchema({ type: 'object' });
const text = (value) => ({ type: 'text', text: value });
const image = { type: 'image', data: PNG, mimeType: 'image/png' };
const embedded = (uri, value) => ({ type: 'resource', resource: { uri, mimeType: 'text/plain', text: value } });

/** The tool whose annotated arguments the header scenarios use, and what its schema annotates. */
export const ANNOTATED = { test_headers: { region: 'Region', limit: 'Limit', dry_run: 'Dry-Run' } };

const HEADERS_INPUT = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    limit: { type: 'integer', 'x-mcp-header': 'Limit' },
    dry_run: { type: 'boolean', 'x-mcp-header': 'Dry-Run' },
  },
  required: ['region'],
};

const DIALECT_INPUT = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

export function registerContent(server) {
  registerTools(server);
  registerResources(server);
  registerPrompts(server);
}

function registerTools(server) {
  const tool = (name, description, content) =>
    server.registerTool(name, { description, inputSchema: NO_INPUT }, () => ({ content }));
  tool('test_simple_text', 'Answers with text.', [text('Some text, as short as that.')]);
  tool('test_image_content', 'Answers with an image.', [image]);
  tool('test_audio_content', 'Answers with a sound.', [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }]);
  tool('test_embedded_resource', 'Answers with a resource.', [
    embedded('test://embedded-resource', 'A resource within a result.'),
  ]);
  tool('test_multiple_content_types', 'Answers with text, an image and a resource.', [
    text('Three kinds of content.'),
    image,
    embedded('test://mixed-content-resource', 'The third kind.'),
  ]);
  server.registerTool('test_error_handling', { description: 'Always fails.', inputSchema: NO_INPUT }, () => {
    throw new Error('This tool fails on purpose.');
  });
  server.registerTool(
    'json_schema_2020_12_tool',
    {
      description: 'Has an input schema that uses much of the dialect.',
      inputSchema: fromJsonSchema(DIALECT_INPUT),
    },
    (input) => ({ content: [text(JSON.stringify(input))] }),
  );
  server.registerTool(
    'test_headers',
    {
      description: 'Has arguments that travel in headers too.',
      inputSchema: fromJsonSchema(HEADERS_INPUT),
    },
    (input) => ({ content: [text(JSON.stringify(input))] }),
  );
}

function registerResources(server) {
  const resource = (name, uri, mimeType, content) =>
    server.registerResource(name, uri, { description: `The ${name} resource.`, mimeType }, () => ({
      contents: [{ uri, mimeType, ...content }],
    }));
  resource('static-text', 'test://static-text', 'text/plain', { text: 'The text of a resource.' });
  resource('static-binary', 'test://static-binary', 'image/png', { blob: PNG });
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined });
  server.registerResource(
    'template',
    template,
    { description: 'Data by id.', mimeType: 'application/json' },
    (uri, { id }) => ({
      contents: [
        { uri: uri.href, mimeType: 'application/json', text: JSON.stringify({ id, data: `what is known of ${id}` }) },
      ],
    }),
  );
}

function registerPrompts(server) {
  const user = (content) => ({ role: 'user', content });
  server.registerPrompt('test_simple_prompt', { description: 'A prompt.' }, () => ({
    messages: [user(text('A prompt without arguments.'))],
  }));
  const oneOf = (...values) => completable(z.string(), (begun) => values.filter((value) => value.startsWith(begun)));
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'A prompt with two arguments.',
      argsSchema: z.object({ arg1: oneOf('test', 'testing'), arg2: z.string() }),
    },
    ({ arg1, arg2 }) => ({ messages: [user(text(`The first is ${arg1}, the second ${arg2}.`))] }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    {
      description: 'A prompt with a resource in it.',
      argsSchema: z.object({ resourceUri: z.string() }),
    },
    ({ resourceUri }) => ({
      messages: [user(embedded(resourceUri, 'A resource within a prompt.')), user(text('What does it say?'))],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'A prompt with an image in it.' }, () => ({
    messages: [user(image), user(text('Which colour is it?'))],
  }));
}
