import type { Exception, Shape } from '../shape.js'

const turns = [{ user: 'A question' }]
const USER = JSON.stringify({
  device_id: 'd'.repeat(64),
  account_uuid: '11111111-2222-3333-4444-555555555555',
  session_id: '11111111-2222-3333-4444-666666666666',
})

const REWRITTEN: readonly Exception[] = [
  { to: 'sdk-messages', skipped: true, why: 'the package of the AI SDK writes the schema anew' },
]

/** Settings of a request. */
export const SETTINGS: readonly Shape[] = [
  { name: 'a-bound', turns, settings: { bound: 500 } },
  {
    name: 'a-bound-of-one',
    from: 'BerriAI/litellm #31451, farion1231/cc-switch #7103: Claude Code tests a model so',
    turns,
    settings: { bound: 1 },
  },
  { name: 'a-temperature', turns, settings: { temperature: 0.5 } },
  { name: 'a-nucleus', turns, settings: { topP: 0.5 } },
  { name: 'stop-sequences', turns, settings: { stop: ['END'] } },
  { name: 'five-stop-sequences', turns, settings: { stop: ['A1', 'B2', 'C3', 'D4', 'E5'] } },
  { name: 'a-seed', turns, settings: { seed: '42' } },
  { name: 'a-seed-beyond-a-number', turns, settings: { seed: '9223372036854775807' } },
  { name: 'one-choice', turns, settings: { choices: 1 } },
  { name: 'log-probabilities', turns, settings: { logprobs: 2 } },
  {
    name: 'an-object-by-a-schema',
    turns,
    settings: {
      schema:
        '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}',
    },
    says: { text: '{"city":"Oslo"}' },
  },
  {
    name: 'an-object-by-a-schema-without-properties',
    turns,
    apis: ['chat', 'responses'],
    settings: { schema: '{"type":"object"}' },
    except: [
      ...REWRITTEN,
      {
        to: 'messages',
        refused: 'response_format.json_schema.schema',
        why: 'Claude makes only objects whose properties are named',
      },
    ],
    says: { text: '{}' },
  },
  {
    name: 'an-object-by-a-schema-that-requires-nothing',
    turns,
    apis: ['chat', 'responses'],
    settings: { schema: '{"type":"object","properties":{"city":{"type":"string"}}}' },
    except: REWRITTEN,
    says: { text: '{}' },
  },
  {
    name: 'any-object',
    turns: [{ user: 'Answer in JSON' }],
    settings: { jsonObject: true },
    says: { text: '{}' },
  },
  {
    name: 'a-label-of-186-characters',
    from: 'looplj/axonhub #1669, aattaran/deepclaude #17: Claude Code',
    turns,
    settings: { user: USER },
  },
  { name: 'a-short-label', turns, settings: { user: 'user-1' } },
  { name: 'metadata', apis: ['chat', 'responses'], turns, settings: { metadata: { purpose: 'a test' } } },
  { name: 'a-key-of-the-cache', from: 'Codex, opencode', turns, settings: { cacheKey: 'session-1' } },
  { name: 'few-words', turns, settings: { verbosity: 'low' } },
  {
    name: 'identical-settings-of-the-default',
    from: 'Copilot CLI',
    apis: ['chat'],
    turns,
    members: { chat: { n: 1, presence_penalty: 0, frequency_penalty: 0, top_p: 1, store: false } },
  },
]
