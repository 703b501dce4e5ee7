import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import ts from 'typescript'
import { afterEach, describe, expect, it } from 'vitest'
import type { CallBody } from '../../src/console/ui/playground/call-body.js'
import type { SampleApi } from '../../src/console/ui/playground/sample-bodies.js'
import { type SampleKind, sampleOf } from '../../src/console/ui/playground/samples.js'
import { ANSWER, agent } from '../helpers/agent-upstream.js'
import { API_KEY, MODEL, UPSTREAM_MODEL, WireService } from '../wire/service.js'

const run = promisify(execFile)
const APIS: readonly SampleApi[] = ['chat', 'responses', 'messages']
const COST = '0.000178'

/** A call with everything that the playground can send. */
const parameters = { type: 'object', properties: { city: { type: 'string' } } }
const calls = ['a', 'b'].map((id) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: `{"city":"${id}"}` },
}))
const CALL: CallBody = {
  model: MODEL,
  messages: [
    { role: 'system', content: "It's short." },
    { role: 'user', content: 'Hello "you"!' },
    { role: 'assistant', content: null, refusal: 'No.' },
    { role: 'user', content: 'And the weather?' },
    { role: 'assistant', content: '', tool_calls: calls },
    { role: 'tool', tool_call_id: 'a', content: 'sunny' },
    { role: 'tool', tool_call_id: 'b', content: 'rainy' },
  ],
  temperature: 0.5,
  max_tokens: 60,
  session_id: 'session-1',
  tools: [{ type: 'function', function: { name: 'weather', description: 'The weather', parameters } }],
}
const FIRST: CallBody = { model: MODEL, messages: [{ role: 'user', content: 'Hello!' }] }

let service: WireService
afterEach(() => service.close())

async function start(): Promise<void> {
  service = await WireService.start()
  service.upstream.script(agent('chat'))
}

async function outputOf(kind: SampleKind, api: SampleApi, body: CallBody): Promise<string> {
  const sample = sampleOf(kind, api, service.host.baseUrl, body, 'an API key')
  expect(sample).toMatch(/^(#|\/\/) COMPAT_API_KEY is an API key\n/)
  const options = { env: { ...process.env, COMPAT_API_KEY: API_KEY } }
  const script = ts.transpile(sample, { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 })
  const { stdout } =
    kind === 'curl'
      ? await run('sh', ['-c', sample.replace('curl ', 'curl -sS ')], options)
      : await run(process.execPath, ['--input-type=module', '-e', script], options)
  return stdout
}

describe.each(APIS)('the playground samples of %s', (api) => {
  it.each([false, true])('run in TypeScript, and print the cost (stream: %s)', async (stream) => {
    await start()
    const output = await outputOf('typescript', api, stream ? { ...FIRST, stream } : FIRST)
    expect(output).toBe(`${ANSWER}\ncost ${COST}\n`)
  })

  it.each([false, true])('run in a shell (stream: %s)', async (stream) => {
    await start()
    const output = await outputOf('curl', api, stream ? { ...FIRST, stream } : FIRST)
    expect(output).toContain(`"cost":${COST}`)
  })

  it('are valid Python', async () => {
    await start()
    for (const body of [FIRST, CALL, { ...CALL, stream: true }]) {
      const python = sampleOf('python', api, service.host.baseUrl, body, 'an API key')
      const read = 'import ast, sys; ast.parse(sys.argv[1])'
      await run('python3', ['-c', read, python]).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
      })
    }
  })

  it('make the same call as the playground', async () => {
    await start()
    expect(await outputOf('typescript', api, CALL)).toContain(ANSWER)
    const { messages, model, ...sent } = service.asked[0]!.body as Record<string, unknown>
    expect(model).toBe(UPSTREAM_MODEL)
    const said = (messages as Record<string, unknown>[]).map(({ content, refusal, role, ...message }) => ({
      role,
      said: refusal ?? (Array.isArray(content) ? content[0].refusal : content) ?? '',
      calls: message.tool_calls ?? [],
      answers: message.tool_call_id,
    }))
    expect(said).toEqual(
      (CALL.messages as Record<string, unknown>[]).map(({ content, refusal, role, ...message }) => ({
        role,
        said: refusal ?? content,
        calls: message.tool_calls ?? [],
        answers: message.tool_call_id,
      })),
    )
    expect(sent).toMatchObject({ temperature: 0.5, max_tokens: 60, tools: CALL.tools })
    expect((await service.event('request-end')).facts?.sessionId).toBe('session-1')
  })
})
