import { signatureObjection, signsCalls } from './chat/google.js'
import { pathOf } from './openai-words.js'
import type { StrictRefusal, StrictRequest } from './refusal.js'
import type { Objection, Rule } from './rule.js'
import { first, isObject, type Json, type Misfit, misfitFinder, objects } from './shape.js'
import { GEMINI } from './shapes/gemini.js'
import { sign } from './signatures.js'

/** A rule of the native API, which names the model in its path. */
export interface GeminiRule extends Omit<Rule, 'objection' | 'rows'> {
  readonly objection: (body: Json, model: string) => Objection | undefined
  /** For the examples. */
  readonly model?: string
}

const misfitOf = misfitFinder(GEMINI)

// What examples are made of.
const HI = { role: 'user', parts: [{ text: 'Hi' }] }
const asked = (more: Json): Json => ({ contents: [HI], ...more })
const said = (...contents: readonly Json[]): Json => ({ contents: [HI, ...contents] })
const reply = (...parts: readonly Json[]): Json => ({ role: 'model', parts })
const answer = (...parts: readonly Json[]): Json => ({ role: 'user', parts })
const call = (more: Json = {}): Json => ({ functionCall: { name: 'look', args: {} }, ...more })
const response = (name = 'look'): Json => ({ functionResponse: { name, response: { output: 'sun' } } })
const tool = (name: string, parameters?: Json): Json => ({
  tools: [{ functionDeclarations: [{ name, ...(parameters === undefined ? {} : { parameters }) }] }],
})

/** Both spellings of a member are one. */
const member = (value: Json, name: string): unknown =>
  value[name] ?? value[name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]

const having = (content: Json | undefined, name: string): readonly Json[] =>
  objects(content?.parts).filter((part) => isObject(member(part, name)))

const nameOf = (part: Json, of: string): unknown => {
  const value = member(part, of)
  return isObject(value) ? value.name : undefined
}

const eachPart = (body: Json, find: (part: Json, place: string) => Objection | undefined) =>
  first(objects(body.contents), ({ parts }, n) =>
    first(objects(parts), (part, at) => find(part, `contents[${n}].parts[${at}]`)),
  )

const eachDeclaration = (body: Json, find: (declaration: Json, place: string) => Objection | undefined) =>
  first(objects(body.tools), (one, n) =>
    first(objects(member(one, 'functionDeclarations')), (declaration, at) =>
      find(declaration, `tools[${n}].function_declarations[${at}]`),
    ),
  )

const invalid = (place: string, what: string): Objection => ({
  message: `* GenerateContentRequest.${place}: ${what}\n`,
})

const DATA = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
]

/** The first schema within another that lacks what its type needs. */
function schemaFault(schema: Json, place: string): Objection | undefined {
  const { items, properties, type } = schema
  const isOf = (name: string) => String(type).toUpperCase() === name
  if (isOf('OBJECT') && isObject(properties) && Object.keys(properties).length === 0) {
    return invalid(`${place}.properties`, 'should be non-empty for OBJECT type')
  }
  if (isOf('ARRAY') && items === undefined) return invalid(`${place}.items`, 'missing field.')
  return (
    first(isObject(properties) ? Object.entries(properties) : [], ([name, inner]) =>
      isObject(inner) ? schemaFault(inner, `${place}.properties[${name}]`) : undefined,
    ) ?? (isObject(items) ? schemaFault(items, `${place}.items`) : undefined)
  )
}

export const GEMINI_RULES: readonly GeminiRule[] = [
  {
    id: 'no-contents',
    source: 'https://ai.google.dev/api/generate-content',
    objection: (body) =>
      objects(body.contents).length === 0 ? invalid('contents', 'contents is not specified') : undefined,
    refuses: asked({ contents: [] }),
    accepts: asked({}),
  },
  {
    id: 'no-parts',
    source: 'https://ai.google.dev/api/caching#Content',
    objection: (body) =>
      first(objects(body.contents), ({ parts }, n) =>
        objects(parts).length === 0
          ? invalid(`contents[${n}].parts`, 'contents.parts must not be empty.')
          : undefined,
      ),
    refuses: said(reply(), HI),
    accepts: said(reply({ text: '' }), HI),
  },
  {
    id: 'empty-part',
    source: 'https://ai.google.dev/api/caching#Part',
    objection: (body) =>
      eachPart(body, (part, place) =>
        DATA.every((name) => (member(part, name) ?? null) === null)
          ? invalid(`${place}.data`, "required oneof field 'data' must have one initialized field")
          : undefined,
      ),
    refuses: said(reply({ thought: true }), HI),
    accepts: said(reply({ thought: true, text: 'x' }), HI),
  },
  {
    id: 'role',
    source: 'https://ai.google.dev/api/caching#Content',
    objection: (body) =>
      first(objects(body.contents), ({ role }) =>
        ['user', 'model', 'function', undefined, null].includes(role as string | null | undefined)
          ? undefined
          : { message: 'Please use a valid role: user, model.' },
      ),
    refuses: said({ role: 'assistant', parts: [{ text: 'Sun.' }] }, HI),
    accepts: said(reply({ text: 'Sun.' }), HI),
  },
  {
    id: 'pairs',
    source: 'https://github.com/google-gemini/gemini-cli/issues/3814',
    objection: (body) => {
      const contents = objects(body.contents)
      return first(contents, (content, n) => {
        const { length } = having(content, 'functionCall')
        const next = contents[n + 1]
        if (length === 0 || next === undefined || having(next, 'functionResponse').length === length)
          return undefined
        return {
          message:
            'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
        }
      })
    },
    refuses: said(reply(call(), call()), answer(response())),
    accepts: said(reply(call(), call()), answer(response(), response())),
  },
  {
    id: 'orphan-response',
    source: 'https://ai.google.dev/gemini-api/docs/function-calling',
    objection: (body) => {
      const contents = objects(body.contents)
      return first(contents, (content, n) =>
        having(content, 'functionResponse').length > 0 && having(contents[n - 1], 'functionCall').length === 0
          ? {
              message:
                'Please ensure that function response turn comes immediately after a function call turn.',
            }
          : undefined,
      )
    },
    refuses: said(answer(response())),
    accepts: said(reply(call()), answer(response())),
  },
  {
    id: 'order',
    source: 'https://github.com/google-gemini/gemini-cli/issues/26486',
    objection: (body) => {
      const contents = objects(body.contents)
      return first(contents, (content, n) =>
        having(content, 'functionCall').length > 0 &&
        contents[n - 1]?.role !== 'user' &&
        contents[n - 1]?.role !== 'function'
          ? {
              message:
                'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
            }
          : undefined,
      )
    },
    refuses: said(reply({ text: 'Hm' }), reply(call()), answer(response())),
    accepts: said(reply({ text: 'Hm' }, call()), answer(response())),
  },
  {
    id: 'name-of-response',
    source: 'https://github.com/openclaw/openclaw/issues/47857',
    objection: (body) =>
      eachPart(body, (part, place) =>
        isObject(member(part, 'functionResponse')) && !nameOf(part, 'functionResponse')
          ? invalid(`${place}.function_response.name`, 'Name cannot be empty.')
          : undefined,
      ),
    refuses: said(reply(call()), answer(response(''))),
    accepts: said(reply(call()), answer(response())),
  },
  {
    id: 'signature',
    source: 'https://ai.google.dev/gemini-api/docs/thought-signatures',
    objection: (body, model) => {
      if (!signsCalls(model)) return undefined
      const contents = objects(body.contents)
      // The turn that goes on: behind the last thing that the user said, which is no answer of a tool.
      const start = contents.findLastIndex(
        (content) => content.role === 'user' && having(content, 'functionResponse').length === 0,
      )
      return first(contents, (content, n) => {
        const [one] = having(content, 'functionCall')
        if (one === undefined || n < start) return undefined
        return signatureObjection(member(one, 'thoughtSignature'), nameOf(one, 'functionCall'), n)
      })
    },
    model: 'gemini-3-pro-preview',
    refuses: said(reply(call()), answer(response())),
    accepts: said(
      reply(call({ thoughtSignature: sign('google', 'look') }), call()),
      answer(response(), response()),
    ),
  },
  {
    id: 'tool-name',
    source: 'https://github.com/kaitranntt/ccs/issues/25',
    objection: (body) =>
      eachDeclaration(body, ({ name }, place) =>
        /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$/.test(String(name))
          ? undefined
          : invalid(
              `${place}.name`,
              'Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.',
            ),
      ),
    refuses: asked(tool('1st')),
    accepts: asked(tool('_1st')),
  },
  {
    id: 'parameters',
    source: 'https://github.com/cline/cline/issues/7339',
    objection: (body) =>
      eachDeclaration(body, ({ parameters }, place) =>
        isObject(parameters) ? schemaFault(parameters, `${place}.parameters`) : undefined,
      ),
    refuses: asked(tool('look', { type: 'OBJECT', properties: { tags: { type: 'ARRAY' } } })),
    accepts: asked(
      tool('look', { type: 'OBJECT', properties: { tags: { type: 'ARRAY', items: { type: 'STRING' } } } }),
    ),
  },
  {
    id: 'json-with-tools',
    source: 'https://github.com/symfony/ai/issues/1777',
    objection: (body, model) => {
      const config = member(body, 'generationConfig')
      const isJson = isObject(config) && member(config, 'responseMimeType') === 'application/json'
      const hasTools = objects(body.tools).some(
        (one) => objects(member(one, 'functionDeclarations')).length > 0,
      )
      return isJson && hasTools && !signsCalls(model)
        ? { message: "Function calling with a response mime type: 'application/json' is unsupported" }
        : undefined
    },
    model: 'gemini-2.5-flash',
    refuses: asked({ ...tool('look'), generationConfig: { responseMimeType: 'application/json' } }),
    accepts: asked({ generationConfig: { responseMimeType: 'application/json' } }),
  },
]

export const modelOf = (path: string): string => /\/models\/([^/:?]+):/.exec(path)?.[1] ?? ''

export function refusalOfGemini({ path, body }: StrictRequest): StrictRefusal | undefined {
  const misfit = misfitOf('generate', body)
  if (misfit !== undefined) return refused('shape', wordsOf(misfit))
  return first(GEMINI_RULES, (rule) => {
    const objection = isObject(body) ? rule.objection(body, modelOf(path)) : undefined
    return objection && refused(rule.id, objection)
  })
}

function wordsOf(misfit: Misfit): Objection {
  const place = pathOf(misfit.path)
  if (misfit.kind === 'unknown' || misfit.kind === 'missing') {
    const parent = pathOf(misfit.path.slice(0, -1))
    const where = parent === '' ? '' : ` at '${parent}'`
    return {
      message: `Invalid JSON payload received. Unknown name "${misfit.path.at(-1)}"${where}: Cannot find field.`,
    }
  }
  return {
    message: `Invalid value at '${place}' (${misfit.wanted.join(', ')}), ${JSON.stringify(misfit.value)}`,
  }
}

const refused = (rule: string, { message, status = 400 }: Objection): StrictRefusal => ({
  status,
  body: { error: { code: status, message, status: 'INVALID_ARGUMENT' } },
  rule,
})
