import { describe, expect, it, onTestFinished } from 'vitest'
import { ProviderError } from '../../src/base/errors.js'
import { whyItFailed } from '../../src/engine/failures/why-it-failed.js'
import { startService } from './service.js'

const CONTEXT = { secrets: ['hunter2-is-the-key'], upstreamModel: 'up-1', modelKey: 'acme/fast' }

const why = (...error: ConstructorParameters<typeof ProviderError>): string =>
  whyItFailed(new ProviderError(...error), CONTEXT)

describe('the reason why a provider failed', () => {
  it('is reported with its status and its own words', () => {
    expect(
      why('status', 'The provider answered 402.', { status: 402, providerMessage: 'Insufficient Balance' }),
    ).toBe('The provider answered 402. It said: Insufficient Balance')
  })

  it.each([400, 403, 413, 422, 451])(
    "is reported without the provider's words if it may have refused the request (%i)",
    (status) => {
      const providerMessage = 'Bad word in: my secret diary'
      expect(why('status', `The provider answered ${status}.`, { status, providerMessage })).toBe(
        `The provider answered ${status}.`,
      )
    },
  )

  it('is reported with the code instead of its words, if that is a valid code', () => {
    const refusal = (providerCode: string) =>
      why('status', 'The provider answered 403.', { status: 403, providerCode, providerMessage: 'my diary' })
    expect(refusal('unsupported_country')).toBe('The provider answered 403. Its code: unsupported_country.')
    expect(refusal('my secret diary')).toBe('The provider answered 403.')
    expect(refusal('x'.repeat(65))).toBe('The provider answered 403.')
  })

  it("is reported without the provider's words about the content of the request", () => {
    const providerMessage = 'Write "my secret diary" as text.'
    expect(why('unsupported-request', 'It cannot be put so.', { providerMessage })).toBe(
      'It cannot be put so.',
    )
  })

  it('is reported with the underlying cause, and its code if the message lacks it', () => {
    const cause = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    const words = 'No connection could be made.'
    expect(why('unreachable', words, { cause })).toBe(
      'No connection could be made. (DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate)',
    )
    const named = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    expect(why('cut-short', words, { cause: named })).toBe(`${words} (read ECONNRESET)`)
    expect(why('cut-short', words, { cause: 'no error' })).toBe(words)
  })

  it("is free of keys, and has the provider's name for the model", () => {
    const told = (providerMessage: string) =>
      why('status', 'The provider answered 401.', { status: 401, providerMessage })
    expect(told('Key sk-proj-0123456789 may not use up-1.')).toBe(
      'The provider answered 401. It said: Key [redacted] may not use up-1.',
    )
    expect(told('Key HUNTER2 is the key may not use up-1.')).toBe('The provider answered 401.')
    expect(why('status', 'It answered 400.', { status: 400, providerCode: 'hunter2-is-the-key' })).toBe(
      'It answered 400.',
    )
  })

  it.each([true, false])('never quotes an unreadable reply (streamed: %s)', async (stream) => {
    const service = await startService()
    onTestFinished(() => service.close())
    const type = stream ? 'text/event-stream' : 'application/json'
    const text = `${stream ? 'data: ' : ''}my secret diary\n\n`
    service.upstreams[0]!.script([{ head: 200, headers: { 'content-type': type } }, { write: text }, 'end'])
    const { routing } = await service.end(await service.ask({ stream }))
    expect(routing?.attempts[0]?.outcome).toBe('provider_invalid_response')
    expect(routing?.attempts[0]?.why).not.toMatch(/diary|secret/)
  })

  it('is in the event but not in the answer', async () => {
    const service = await startService({ routes: [{ dead: true }] })
    onTestFinished(() => service.close())
    const answer = await service.ask()
    const { routing } = await service.end(answer)
    expect(answer.status).toBe(502)
    expect(routing?.attempts).toMatchObject([
      {
        outcome: 'provider_error',
        why: expect.stringMatching(
          /^No connection could be made \(http:\/\/127\.0\.0\.1:1\/v1\/chat\/completions\)\. \(.*ECONNREFUSED 127\.0\.0\.1:1\)$/,
        ),
      },
    ])
    expect(Object.isFrozen(routing?.attempts[0])).toBe(true)
    expect(answer.text).not.toContain('ECONNREFUSED')
  })
})
