import { expect, it } from 'vitest'
import type { CredentialResult } from '../../src/contracts/index.js'
import { memoryCredentials } from '../../src/memory/index.js'
import { credentialCases } from '../../src/testing/index.js'

type Refusal = Extract<CredentialResult, { ok: false }>

/** Returns the ids of the cases that memory credentials fail if their refusals are changed. */
async function failuresWith(
  change: (refusal: Refusal) => Refusal,
  onFailure: (error: Error) => void = () => {},
): Promise<string[]> {
  const failed: string[] = []
  for (const { id, run } of credentialCases) {
    const running = run({
      open(tokens) {
        const inner = memoryCredentials(tokens)
        const resolve = async (token: string): Promise<CredentialResult> => {
          const result = await inner.resolve(token, { requestId: 'r', signal: new AbortController().signal })
          return result.ok ? result : change(result)
        }
        return { store: { resolve, watch: inner.watch }, revoke: inner.revoke }
      },
    })
    await running.catch((error: Error) => {
      failed.push(id)
      onFailure(error)
    })
  }
  return failed
}

const mallory = { credentialId: 'key-9', account: 'mallory' }

it('the credential cases accept a store that omits the owner of a refused credential', async () => {
  expect(await failuresWith(({ reason }) => ({ ok: false, reason }))).toEqual([])
})

it('the credential cases catch a store that names the wrong owner', async () => {
  const failed = await failuresWith((refusal) =>
    refusal.reason === 'unknown' ? refusal : { ...refusal, credential: mallory },
  )
  expect(failed).toEqual(['credential-expired', 'credential-revoked', 'credential-watch'])
})

it('the credential cases catch a store that omits the app of an access token', async () => {
  const messages: string[] = []
  const failed = await failuresWith(
    ({ credential, ...refusal }) =>
      credential === undefined ? refusal : { ...refusal, credential: { ...credential, appId: undefined } },
    ({ message }) => messages.push(message),
  )
  expect(failed).toEqual(['credential-revoked'])
  expect(messages).toEqual([expect.stringContaining('credential: {')])
})

it('the credential cases catch a store that names an owner for an unknown token', async () => {
  const failed = await failuresWith((refusal) =>
    refusal.reason === 'unknown' ? { ...refusal, credential: mallory } : refusal,
  )
  expect(failed).toContain('credential-unknown')
})
