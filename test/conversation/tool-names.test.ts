import { describe, expect, it } from 'vitest'
import {
  fittingNames,
  longestName,
  NAMES_IN_CHAT,
  NAMES_IN_MESSAGES,
  NAMES_IN_RESPONSES,
  PLAIN_NAME,
  renamed,
} from '../../src/conversation/tool-names.js'
import { cpuMsOf } from '../helpers/cpu-time.js'

const shout = (name: string) => name.toUpperCase()
const fitting = (...names: string[]) => Object.fromEntries(fittingNames(new Set(names), PLAIN_NAME))

describe('names of tools within the limits of an API', () => {
  it('stay if they fit, and an empty one stays for the provider to refuse', () => {
    expect(fitting('get_weather', '', 'n'.repeat(64))).toEqual({})
  })

  it('lose characters that the API does not take', () => {
    expect(fitting('weather.get', '天気', '3d-render')).toEqual({
      'weather.get': 'weather_get',
      天気: '__',
      '3d-render': '_3d-render',
    })
  })

  it('end with a digest of the whole name if they are cut, and so are the same in every request', () => {
    const long = 'x'.repeat(80)
    const { [`${long}a`]: one, [`${long}b`]: other } = fitting(`${long}a`, `${long}b`)
    expect(one).toMatch(/^x{55}_[0-9a-f]{8}$/)
    expect(other).toMatch(/^x{55}_[0-9a-f]{8}$/)
    expect(one).not.toBe(other)
    expect(fitting('another', `${long}a`)).toEqual({ [`${long}a`]: one })
  })

  it('are never those of two tools', () => {
    const names = ['a.b', 'a_b', 'a/b', 'a:b']
    const sent = fitting(...names)
    expect(new Set(names.map((name) => sent[name] ?? name)).size).toBe(4)
    expect(sent.a_b).toBeUndefined()
  })

  it('take time in proportion to the text of all names, whichever are chosen to be in the way', () => {
    // A name of the history may be of any length. The others are the names that it would get one after the other.
    const long = '\u0301'.repeat(5_000_000)
    const inTheWay = new Set([long])
    for (let others = 0; others < 200; others++) inTheWay.add(fittingNames(inTheWay, PLAIN_NAME).get(long)!)
    const sent = () => fittingNames(inTheWay, PLAIN_NAME).get(long)
    expect(cpuMsOf(sent, 500)).toBeLessThan(500)
    expect(inTheWay.has(sent()!)).toBe(false)
    expect(cpuMsOf(() => longestName('\\'.repeat(20_000_000)), 500)).toBeLessThan(500)
  })

  it('are at most as long as the name with which a prompt is estimated', () => {
    for (const name of ['a.b', '3d', 'x'.repeat(500)]) {
      for (const sent of Object.values(fitting(name, 'a_b', '_3d')))
        expect(sent.length).toBeLessThanOrEqual(longestName(name)!.length)
    }
    expect(longestName('get_weather')).toBeUndefined()
  })
})

describe('the places of names of tools', () => {
  it('are those of tools, choices, calls and results of a chat, but not of who speaks or of the provider itself', () => {
    const chat = {
      model: 'm',
      tools: [
        { type: 'function', function: { name: 'a', parameters: { name: 'p' } } },
        { type: 'custom', custom: { name: 'b' } },
        { type: 'builtin_function', function: { name: 'c' } },
      ],
      functions: [{ name: 'd' }],
      function_call: { name: 'd' },
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { tools: [{ type: 'function', function: { name: 'a' } }] },
      },
      messages: [
        { role: 'user', name: 'u', content: 'a' },
        {
          role: 'assistant',
          name: 'm',
          function_call: { name: 'd' },
          tool_calls: [{ function: { name: 'a', arguments: '{"name":"a"}' } }],
        },
        { role: 'tool', name: 'a', content: 'a' },
      ],
    }
    expect(renamed(chat, NAMES_IN_CHAT, shout)).toEqual({
      model: 'm',
      tools: [
        { type: 'function', function: { name: 'A', parameters: { name: 'p' } } },
        { type: 'custom', custom: { name: 'B' } },
        { type: 'builtin_function', function: { name: 'c' } },
      ],
      functions: [{ name: 'D' }],
      function_call: { name: 'D' },
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { tools: [{ type: 'function', function: { name: 'A' } }] },
      },
      messages: [
        { role: 'user', name: 'u', content: 'a' },
        {
          role: 'assistant',
          name: 'm',
          function_call: { name: 'D' },
          tool_calls: [{ function: { name: 'A', arguments: '{"name":"a"}' } }],
        },
        { role: 'tool', name: 'A', content: 'a' },
      ],
    })
  })

  it('are those of tools that stand in the input of the Responses API too', () => {
    const request = {
      tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'a' }] }],
      tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'a' }] },
      input: [
        { type: 'message', role: 'user', name: 'u', content: 'a' },
        { type: 'custom_tool_call', name: 'a', input: 'a' },
        { type: 'tool_search_output', tools: [{ type: 'function', name: 'a' }] },
      ],
    }
    expect(renamed(request, NAMES_IN_RESPONSES, shout)).toEqual({
      tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'A' }] }],
      tool_choice: { type: 'allowed_tools', tools: [{ type: 'function', name: 'A' }] },
      input: [
        { type: 'message', role: 'user', name: 'u', content: 'a' },
        { type: 'custom_tool_call', name: 'A', input: 'a' },
        { type: 'tool_search_output', tools: [{ type: 'function', name: 'A' }] },
      ],
    })
  })

  it('are those of references in results of the Messages API too, but not of tools that the provider runs', () => {
    const request = {
      tools: [{ name: 'a' }, { type: 'web_search_20250305', name: 'web_search' }],
      tool_choice: { type: 'tool', name: 'a' },
      messages: [
        { role: 'assistant', content: [{ type: 'server_tool_use', name: 'web_search' }] },
        { role: 'assistant', content: [{ type: 'tool_use', name: 'a', input: { name: 'a' } }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', content: [{ type: 'tool_reference', tool_name: 'a' }] }],
        },
      ],
    }
    expect(renamed(request, NAMES_IN_MESSAGES, shout)).toEqual({
      tools: [{ name: 'A' }, { type: 'web_search_20250305', name: 'web_search' }],
      tool_choice: { type: 'tool', name: 'A' },
      messages: [
        { role: 'assistant', content: [{ type: 'server_tool_use', name: 'web_search' }] },
        { role: 'assistant', content: [{ type: 'tool_use', name: 'A', input: { name: 'a' } }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', content: [{ type: 'tool_reference', tool_name: 'A' }] }],
        },
      ],
    })
  })

  it('leave a value whose names stay as the same object', () => {
    const chat = { tools: [{ function: { name: 'A' } }], messages: [{ role: 'tool', name: 'A' }] }
    expect(renamed(chat, NAMES_IN_CHAT, shout)).toBe(chat)
  })
})
