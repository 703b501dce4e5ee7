import { Template } from '@huggingface/jinja'
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base'
import llama3 from 'llama3-tokenizer-js'
import { describe, expect, it } from 'vitest'
import type { Model } from '../../src/contracts/catalogue.js'
import type { PromptEscapes } from '../../src/contracts/providers.js'
import { byteRatioCounter, createByteCounter } from '../../src/engine/charging/token-counters.js'
import { estimatePrompt } from '../../src/operations/chat/prompt-estimate.js'
import type { ChatMessage } from '../../src/protocol/chat-request.js'
import { CHAT_TEMPLATES, type ChatTemplate } from '../helpers/chat-templates.js'
import { PROSE } from '../helpers/text-samples.js'

const MODEL: Model = { id: 'acme/fast', created: 0, ownedBy: 'acme' }
const COUNTERS = { counter: byteRatioCounter, upperCounter: createByteCounter(), neverOverdraw: true }

const NO_SPECIAL_TOKENS = { disallowedSpecial: new Set<string>() }
type Count = (text: string) => number
const TOKENIZERS: Readonly<Record<string, Count>> = {
  o200k: (text) => countO200k(text, NO_SPECIAL_TOKENS),
  cl100k: (text) => countCl100k(text, NO_SPECIAL_TOKENS),
  llama3: (text) => llama3.encode(text, { bos: false, eos: false }).length,
}
/** Every byte of the normal form is a token, and white space between JSON is one. */
const byBytes: Count = (text) => Buffer.byteLength(text.normalize('NFKC').replace(/\n *| +/g, ' '))

interface Chat {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly object[]
}

/** A chat with the text in each place that a caller chooses. */
function chatOf(text: string, times = 1): Chat {
  const names = Array.from({ length: times }, (_, at) => `f${at}`)
  return {
    tools: names.map((name) => ({
      type: 'function',
      function: {
        name,
        description: text,
        parameters: {
          type: 'object',
          properties: { value: { type: 'string', description: text, enum: [text, ...'0123456789'] } },
        },
      },
    })),
    messages: [
      { role: 'system', content: text },
      { role: 'user', content: text },
      {
        role: 'assistant',
        content: '',
        reasoning_content: text,
        tool_calls: names.map((name) => ({
          id: 'call00001',
          type: 'function',
          function: { name, arguments: JSON.stringify({ value: text, list: [...text].slice(0, 50) }) },
        })),
      },
      ...names.map((name) => ({ role: 'tool', name, tool_call_id: 'call00001', content: text })),
      { role: 'user', content: text },
    ],
  }
}

const ESCAPED: Readonly<Record<PromptEscapes, RegExp>> = { ascii: /[^\0-\x7f]/g, html: /[<>&'\u2028\u2029]/g }

/** Servers hand the arguments of calls to templates as objects. */
function rendered({ text }: ChatTemplate, { messages, tools }: Chat, escapes?: PromptEscapes): string {
  const source =
    escapes === undefined
      ? text
      : text.replace(/\{\{ ([^{}]*\| tojson(?:\(indent=4\))?) \}\}/g, '{{ escaped($1) }}')
  const escaped = (json: string) =>
    json.replace(ESCAPED[escapes!], (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const read = messages.map((message) => {
    const calls = message.tool_calls as { function: { arguments: string } }[] | undefined
    if (calls === undefined) return message
    const parsed = calls.map((call) => ({
      ...call,
      function: { ...call.function, arguments: JSON.parse(call.function.arguments) },
    }))
    return { ...message, tool_calls: parsed }
  })
  return new Template(source).render({ messages: read, tools, escaped })
}

function countWith(count: Count, { special }: ChatTemplate, prompt: string): number {
  const pieces = prompt.split(special)
  return pieces.reduce((sum, piece) => sum + count(piece), pieces.length - 1)
}

function boundOf({ messages, tools }: Chat, escapes?: PromptEscapes): number {
  const request = { model: 'm', messages: [...messages], tools }
  return estimatePrompt(request, MODEL, COUNTERS).atMost(1, escapes)
}

const TEXTS: Readonly<Record<string, string>> = {
  'English prose': PROSE.English!,
  'Russian prose': PROSE.Russian!,
  'Chinese prose': PROSE.Chinese!,
  'control characters': '\u0001\u0002\u001f\u000b'.repeat(60),
  'back spaces and form feeds': '\b\f'.repeat(60),
  'line feeds and quotes': '"\n"\t\\\r'.repeat(60),
  'signs of HTML': "<>&'".repeat(60),
  emoji: '😀🎉🔥🚀'.repeat(40),
  marks: 'à\u0323\u0301'.repeat(60),
  'letters with a long normal form': '\ufdfa'.repeat(40),
  digits: Array.from({ length: 300 }, (_, at) => at % 10).join(','),
  'JSON in a text': JSON.stringify({ id: 1, list: ['a', 'b'], text: 'He said "no"\n' }).repeat(8),
  'line separators': '\u2028\u2029'.repeat(60),
}

describe.each(Object.entries(CHAT_TEMPLATES))(
  'the upper limit of a prompt covers the template of %s',
  (_, template) => {
    describe.each<[how: string, escapes?: PromptEscapes]>([
      ['as it is'],
      ['with escapes of all but ASCII', 'ascii'],
      ['with escapes of HTML', 'html'],
    ])('with %s', (_how, escapes) => {
      it.each(Object.entries(TEXTS))('for %s', (_name, text) => {
        const chat = chatOf(text, 3)
        const prompt = rendered(template, chat, escapes)
        expect(prompt.length).toBeGreaterThan(text.length)
        const bound = boundOf(chat, escapes)
        for (const [name, count] of Object.entries(TOKENIZERS)) {
          expect(countWith(count, template, prompt), name).toBeLessThanOrEqual(bound)
        }
        // What the template itself adds has fewer tokens than bytes, so it is taken off on both sides.
        const empty = chatOf('', 3)
        const added = byBytes(prompt) - byBytes(rendered(template, empty, escapes))
        expect(added, 'bytes').toBeLessThanOrEqual(bound - boundOf(empty, escapes))
      })
    })
  },
)
