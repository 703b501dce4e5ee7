import type { ProviderAdapter } from '../../src/contracts/index.js'
import type {
  AdapterScenario,
  AdapterUnderTest,
  ReceivedRequest,
  ScriptedAnswer,
} from '../../src/testing/adapter/index.js'
import {
  answerJson,
  type Script,
  type ScriptedReply,
  type ScriptedRequest,
  startScriptedUpstream,
} from '../helpers/scripted-upstream.js'

/** The wire format of a provider. Streams are text as sent on the wire. */
export interface Language {
  /** Returns the beginning of a stream. */
  open(answer: ScriptedAnswer): string
  text(piece: string): string
  /** Returns everything that follows the text of a stream, including the end marker. */
  close(answer: ScriptedAnswer): string
  body(answer: ScriptedAnswer): object
  errorBody(message: string, code?: string): object
  /** Returns what a stream may have between its events. */
  noise: string
  errorFrame(message: string): string
}

const nothing: ScriptedAnswer = {
  text: [],
  toolCalls: [],
  finish: 'stop',
  usage: { prompt: 3, cached: 0, cacheWrite: 0, completion: 2, reasoning: 0 },
}

/** Starts a provider on a real socket that speaks `language` and plays `scenario`, and connects an adapter to it. */
export async function openAdapter(
  scenario: AdapterScenario,
  language: Language,
  connect: (baseUrl: string) => ProviderAdapter,
): Promise<AdapterUnderTest> {
  const upstream = await startScriptedUpstream()
  const requests: ReceivedRequest[] = []
  let sent = 0
  let received = (_request: ReceivedRequest) => {}
  const firstRequest = new Promise<ReceivedRequest>((resolve) => {
    received = resolve
  })
  const counted = (reply: ScriptedReply) => async (bytes: string) => {
    await reply.write(bytes)
    sent += Buffer.byteLength(bytes)
  }
  upstream.script(async (reply, request) => {
    const seen = {
      text: `${request.path}\n${JSON.stringify(request.headers)}\n${request.text}`,
      closed: request.closed,
    }
    requests.push(seen)
    received(seen)
    await play(scenario, language, reply, request, counted(reply))
  })
  if (scenario.kind === 'unreachable') await upstream.close()
  return {
    adapter: connect(upstream.baseUrl),
    upstreamModel: 'upstream-model',
    requests,
    firstRequest,
    sentBytes: () => sent,
    close: () => (scenario.kind === 'unreachable' ? undefined : upstream.close()),
  }
}

async function play(
  scenario: AdapterScenario,
  language: Language,
  reply: ScriptedReply,
  request: ScriptedRequest,
  write: (bytes: string) => Promise<void>,
): Promise<void> {
  const body = request.body as { stream?: unknown }
  const isStream = body.stream === true
  const begin = () => reply.head(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
  const beginText = async (text: readonly string[]) => {
    begin()
    await write(language.open(nothing))
    for (const piece of text) await write(language.text(piece))
  }
  switch (scenario.kind) {
    case 'answer': {
      if (!isStream) return perform(answerJson(language.body(scenario.answer)), reply)
      begin()
      await write(language.open(scenario.answer))
      for (const piece of scenario.answer.text) {
        if (scenario.isNoisy === true) await write(language.noise)
        await write(language.text(piece))
      }
      if (scenario.isNoisy === true) await write(language.noise)
      await write(language.close(scenario.answer))
      return reply.end()
    }
    case 'status': {
      const seconds = scenario.retryAfterSeconds
      const headers: Record<string, string> = seconds === undefined ? {} : { 'retry-after': String(seconds) }
      return perform(
        answerJson(language.errorBody(scenario.message, scenario.code), scenario.status, headers),
        reply,
      )
    }
    case 'error-frame':
      await beginText(scenario.text)
      await write(language.errorFrame(scenario.message))
      return reply.end()
    case 'cut-short':
      if (isStream) await beginText(scenario.text)
      else {
        begin()
        const whole = JSON.stringify(language.body({ ...nothing, text: scenario.text }))
        await write(whole.slice(0, whole.length / 2))
      }
      return scenario.how === 'broken' ? reply.hangUp() : reply.end()
    case 'silence':
      if (scenario.text.length > 0) await beginText(scenario.text)
      return reply.closed
    case 'flood':
      await beginText([])
      for (let time = 0; time < scenario.times; time++) await write(language.text(scenario.piece))
      await write(language.close(nothing))
      return reply.end()
    case 'nonsense':
      begin()
      await write(isStream ? 'data: {"this is": no JSON}\n\n' : '{"this is": no JSON}')
      return reply.end()
    case 'unreachable':
      return undefined
  }
}

async function perform(script: Script, reply: ScriptedReply): Promise<void> {
  if (typeof script === 'function') throw new Error('The script must be a list of steps.')
  for (const step of script) {
    if (step === 'end') reply.end()
    else if (typeof step === 'object' && 'head' in step) reply.head(step.head, step.headers)
    else if (typeof step === 'object' && 'write' in step) await reply.write(step.write)
  }
}
