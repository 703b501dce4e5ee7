import type { Objection, Rule } from '../rule.js'
import { first, isObject, type Json, misfitFinder, objects } from '../shape.js'
import { OPENAI } from '../shapes/index.js'
import { isFrom, SKIP_SIGNATURE, sign } from '../signatures.js'
import { asked, call, calls, callsOf, idsOf, result, resultsBehind, said, USER } from './conversation.js'

/** Members of OpenAI's requests that Google's version of them has been seen to refuse. */
const UNKNOWN_TO_GOOGLE = ['reasoning', 'frequency_penalty', 'prompt_cache_key']

const misfitOf = misfitFinder(OPENAI)

const isUnknown = (body: Json, name: string) => {
  const misfit = misfitOf('chat', { model: 'm', messages: [], [name]: body[name] })
  return misfit?.kind === 'unknown' && misfit.path.length === 1
}

/** Models of Google that want their calls back as they signed them. */
export const signsCalls = (model: unknown) => /gemini-([3-9]|\d\d)/.test(String(model))

const SIGNATURE_MISSING = (name: unknown, n: number): string =>
  `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${name}\` , position ${n}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`

/** What Google says of the signature of the first call of a step. */
export function signatureObjection(signature: unknown, name: unknown, n: number): Objection | undefined {
  if (typeof signature !== 'string' || signature === '') return { message: SIGNATURE_MISSING(name, n) }
  return signature === SKIP_SIGNATURE || isFrom('google', signature)
    ? undefined
    : { message: 'Corrupted thought signature.' }
}

const signed = (one: Json, signature: string): Json => ({
  ...one,
  extra_content: { google: { thought_signature: signature } },
})

export const GOOGLE_RULES: readonly Rule[] = [
  {
    id: 'google-unknown-member',
    source: 'https://github.com/MinLL/SkyrimNet-GamePlugin/issues/77',
    rows: ['gemini-chat'],
    objection: (body) =>
      first(Object.keys(body), (name) =>
        UNKNOWN_TO_GOOGLE.includes(name) || (name !== 'extra_body' && isUnknown(body, name))
          ? { message: `Invalid JSON payload received. Unknown name "${name}": Cannot find field.` }
          : undefined,
      ),
    refuses: asked({ reasoning: { effort: 'low' } }),
    accepts: asked({ reasoning_effort: 'low' }),
  },
  {
    id: 'google-no-contents',
    source: 'https://ai.google.dev/gemini-api/docs/openai',
    rows: ['gemini-chat'],
    objection: (body) =>
      objects(body.messages).every(({ role }) => role === 'system' || role === 'developer')
        ? { message: '* GenerateContentRequest.contents: contents is not specified\n' }
        : undefined,
    refuses: { model: 'm', messages: [{ role: 'system', content: 'Be brief.' }] },
    accepts: { model: 'm', messages: [{ role: 'system', content: 'Be brief.' }, USER] },
  },
  {
    id: 'google-pairs',
    source: 'https://github.com/google-gemini/gemini-cli/issues/17208',
    rows: ['gemini-chat'],
    objection: (body) => {
      const messages = objects(body.messages)
      return first(messages, (message, n) => {
        const ids = idsOf(message)
        const results = resultsBehind(messages, n)
        const isLast = n === messages.length - 1
        if (ids.length === 0 || isLast || ids.length === results.length) return undefined
        return {
          message:
            'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
        }
      })
    },
    refuses: said(calls(call('a'), call('b')), result('a'), USER),
    accepts: said(calls(call('a'), call('b')), result('a'), result('b'), USER),
  },
  {
    id: 'google-signature',
    source: 'https://ai.google.dev/gemini-api/docs/thought-signatures',
    rows: ['gemini-chat'],
    objection: ({ messages, model }) => {
      if (!signsCalls(model)) return undefined
      const all = objects(messages)
      const start = all.findLastIndex(({ role }) => role === 'user')
      return first(all, (message, n) => {
        const [one] = callsOf(message)
        if (one === undefined || n < start) return undefined
        const { google } = isObject(one.extra_content) ? one.extra_content : { google: undefined }
        const name = isObject(one.function) ? one.function.name : undefined
        return signatureObjection(isObject(google) ? google.thought_signature : undefined, name, n)
      })
    },
    refuses: { ...said(calls(call('a')), result('a')), model: 'gemini-3-pro-preview' },
    accepts: {
      ...said(calls(signed(call('a'), sign('google', 'look'))), result('a')),
      model: 'gemini-3-pro-preview',
    },
  },
]
