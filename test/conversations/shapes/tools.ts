import type { Shape, Tool } from '../shape.js'
import { result, WEATHER, weather } from './order.js'

const tools = [WEATHER]
const asks = { user: 'How is the weather?' }
const patch: Tool = { name: 'apply_patch', description: 'Changes files', custom: {} }
const patches = {
  call: 'apply_patch',
  id: 'call_p',
  input: '*** Begin Patch\n*** End Patch',
  custom: true as const,
}

/** Tools and how they may be called. */
export const TOOLS: readonly Shape[] = [
  {
    name: 'a-tool',
    tools,
    turns: [asks],
    says: { calls: [{ id: 'call_1', name: 'get_weather', input: '{"city":"Oslo"}' }] },
  },
  {
    name: 'a-strict-tool',
    tools: [
      {
        name: 'get_weather',
        schema:
          '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}',
        strict: true,
      },
    ],
    turns: [asks],
  },
  {
    name: 'a-schema-without-properties',
    from: 'inboxapi/cli #106, langchain-mcp-adapters #137, openai-agents-python PR #454',
    tools: [{ name: 'help', description: 'Helps', schema: '{"type":"object"}' }],
    turns: [{ user: 'Help me' }],
  },
  {
    name: 'a-schema-that-says-nothing',
    from: 'posit-dev/mcptools #89',
    tools: [{ name: 'help', description: 'Helps', schema: '{}' }],
    turns: [{ user: 'Help me' }],
  },
  {
    name: 'a-schema-of-a-draft-without-properties',
    from: 'MCP servers',
    tools: [
      {
        name: 'help',
        schema:
          '{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false}',
      },
    ],
    turns: [{ user: 'Help me' }],
  },
  {
    name: 'a-tool-without-a-schema',
    tools: [{ name: 'help', description: 'Helps' }],
    turns: [{ user: 'Help me' }],
  },
  {
    name: 'digits-beyond-a-number-in-a-schema',
    tools: [
      {
        name: 'get_weather',
        schema: '{"type":"object","properties":{"id":{"type":"integer","maximum":9223372036854775807}}}',
      },
    ],
    turns: [asks],
  },
  {
    name: 'settings-of-tools-without-tools',
    from: 'openai/swarm #30, ogx-ai/ogx PR #4608: Codex',
    turns: [{ user: 'A question' }],
    settings: { toolChoice: 'auto', parallel: false },
    except: [{ without: ['toolChoice', 'parallel'], why: 'there are no tools' }],
  },
  {
    name: 'no-tools-and-none-to-choose',
    tools: [],
    turns: [{ user: 'A question' }],
    settings: { toolChoice: 'none' },
    except: [{ without: ['toolChoice'], why: 'there are no tools' }],
  },
  {
    name: 'calls-in-parallel-without-tools',
    from: 'Upsonic/Upsonic #323',
    apis: ['chat', 'responses'],
    turns: [{ user: 'A question' }],
    settings: { parallel: true },
    except: [{ without: ['parallel'], why: 'there are no tools' }],
  },
  { name: 'any-tool', tools, turns: [asks], settings: { toolChoice: 'any' } },
  { name: 'a-chosen-tool', tools, turns: [asks], settings: { toolChoice: { tool: 'get_weather' } } },
  { name: 'no-tool-to-call', tools, turns: [asks], settings: { toolChoice: 'none' } },
  { name: 'one-call-at-a-time', tools, turns: [asks], settings: { parallel: false } },
  {
    name: 'a-custom-tool',
    from: 'Codex',
    tools: [patch],
    turns: [
      { user: 'Change the file' },
      { assistant: [patches] },
      { results: [{ of: 'call_p', says: 'Done with it', custom: true }] },
    ],
  },
  {
    name: 'a-custom-tool-with-a-grammar',
    from: 'Codex',
    tools: [{ ...patch, custom: { grammar: 'start: "*** Begin Patch"' } }],
    turns: [{ user: 'Change the file' }],
  },
  {
    name: 'tools-in-namespaces',
    from: 'Codex with MCP servers',
    tools: [
      { ...WEATHER, namespace: 'mcp__city' },
      { ...WEATHER, name: 'get_time', namespace: 'mcp__city' },
    ],
    turns: [
      asks,
      { assistant: [{ ...weather('call_1', 'Oslo'), namespace: 'mcp__city' }] },
      { results: [result('call_1', 'Four degrees')] },
    ],
    says: { calls: [{ id: 'call_2', name: 'mcp__city__get_time', input: '{"city":"Rome"}' }] },
  },
  {
    name: 'a-function-of-the-older-form',
    from: 'instructor in the mode FUNCTIONS',
    apis: ['chat'],
    tools: [{ ...WEATHER, legacy: true }],
    turns: [
      asks,
      { assistant: [{ ...weather('', 'Oslo'), legacy: true }] },
      { results: [{ of: '', says: 'Four degrees', legacy: 'get_weather' }] },
    ],
  },
  {
    name: 'tools-that-are-added-later',
    from: 'envoyproxy/ai-gateway #2586, mxyhi/token_proxy #307: Codex 0.150',
    apis: ['responses'],
    turns: [
      {
        native: {
          responses: [
            {
              type: 'additional_tools',
              role: 'developer',
              tools: [
                {
                  type: 'function',
                  name: 'get_weather',
                  description: 'The weather',
                  parameters: { type: 'object', properties: { city: { type: 'string' } } },
                  strict: false,
                },
              ],
            },
          ],
        },
        tools: ['get_weather'],
      },
      asks,
    ],
  },
  {
    name: 'no-tools-that-are-added-later',
    from: 'Edward-lyz/codex-mixin #10',
    apis: ['responses'],
    turns: [asks, { native: { responses: [{ type: 'additional_tools', role: 'developer', tools: [] }] } }],
  },
  {
    name: 'tools-that-a-search-found',
    from: 'Codex with tool_search',
    apis: ['responses'],
    members: {
      responses: {
        tools: [
          {
            type: 'tool_search',
            execution: 'client',
            description: 'Finds tools',
            parameters: { type: 'object', properties: { query: { type: 'string' } } },
          },
        ],
      },
    },
    turns: [
      asks,
      {
        native: {
          responses: [
            {
              type: 'tool_search_call',
              call_id: 'call_s',
              execution: 'client',
              arguments: { query: 'weather' },
            },
            {
              type: 'tool_search_output',
              call_id: 'call_s',
              execution: 'client',
              status: 'completed',
              tools: [
                {
                  type: 'function',
                  name: 'get_weather',
                  description: 'The weather',
                  parameters: { type: 'object', properties: { city: { type: 'string' } } },
                  strict: false,
                },
              ],
            },
          ],
        },
        tools: ['get_weather'],
      },
    ],
  },
  {
    name: 'a-search-of-an-earlier-reply',
    from: 'router-for-me/CLIProxyAPI: web_search_call in the history',
    apis: ['responses'],
    turns: [
      { user: 'What is new?' },
      {
        native: {
          responses: [
            {
              type: 'web_search_call',
              id: 'ws_1',
              status: 'completed',
              action: { type: 'search', query: 'news' },
            },
          ],
        },
      },
      { assistant: ['This was found'] },
      { user: 'Tell me more' },
    ],
  },
  {
    name: 'a-shell-call-of-an-earlier-reply',
    from: 'openai/codex #27423',
    apis: ['responses'],
    turns: [
      { user: 'What is here?' },
      {
        native: {
          responses: [
            {
              type: 'local_shell_call',
              id: 'ls_1',
              call_id: 'call_l',
              status: 'completed',
              action: { type: 'exec', command: ['ls'], env: {} },
            },
            { type: 'local_shell_call_output', id: 'call_l', output: 'a.txt' },
          ],
        },
      },
      { user: 'Tell me more' },
    ],
  },
  {
    name: 'a-reference-to-a-tool-in-a-result',
    from: 'Claude Code with tool search: tool_reference',
    apis: ['messages'],
    tools,
    turns: [
      asks,
      {
        native: {
          messages: [
            {
              role: 'assistant',
              content: [{ type: 'tool_use', id: 'toolu_s', name: 'ToolSearch', input: { query: 'weather' } }],
            },
            {
              role: 'user',
              content: [
                {
                  type: 'tool_result',
                  tool_use_id: 'toolu_s',
                  content: [{ type: 'tool_reference', tool_name: 'get_weather' }],
                },
              ],
            },
          ],
        },
      },
    ],
  },
  {
    name: 'a-search-result-in-a-result',
    from: "Anthropic's search_result blocks",
    apis: ['messages'],
    tools,
    turns: [
      asks,
      {
        native: {
          messages: [
            {
              role: 'assistant',
              content: [{ type: 'tool_use', id: 'toolu_s', name: 'get_weather', input: { city: 'Oslo' } }],
            },
            {
              role: 'user',
              content: [
                {
                  type: 'tool_result',
                  tool_use_id: 'toolu_s',
                  content: [
                    {
                      type: 'search_result',
                      source: 'https://example.com',
                      title: 'Weather',
                      content: [{ type: 'text', text: 'Four degrees in Oslo' }],
                    },
                  ],
                },
              ],
            },
          ],
        },
        means: ['Four degrees in Oslo'],
      },
    ],
  },
]
