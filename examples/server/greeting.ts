import { formatCredits } from 'compat-router'
import type { Balance } from 'compat-router/stores'
import { type ExampleApp, MOUNT } from './app.js'
import { type DemoCredential, type DemoCredentials, demoAccounts } from './demo-accounts.js'

/** The text that is printed once the server listens. */
export async function greeting(
  example: ExampleApp,
  credentials: DemoCredentials,
  origin: string,
  isDemo: boolean,
  metricsOrigin: string,
  notesOrigin?: string,
): Promise<string> {
  const { apiKey, accessToken } = credentials
  const balances = await example.balances()
  const baseUrl = `${origin}${MOUNT}`
  const model = example.models[0]!.id
  const messages = [{ role: 'user', content: 'Hello!' }]
  const bearer =
    apiKey.token === undefined ? '"authorization: Bearer $KEY"' : `'authorization: Bearer ${apiKey.token}'`
  const curl = (flags: string, body: object) =>
    [
      `curl ${flags}${baseUrl}/chat/completions \\`,
      `  -H ${bearer} \\`,
      "  -H 'content-type: application/json' \\",
      `  -d '${JSON.stringify(body)}'`,
    ].join('\n')
  return `
Console             ${example.signInLink(origin)}
                    works once, within an hour; npm start prints a new link

${isDemo ? 'A stand-in answers instead of a real model. To use a real one, set UPSTREAM_BASE_URL and UPSTREAM_API_KEY.' : 'This is an example, so every model costs the same.'}

Base URL            ${baseUrl}
Models              ${example.models.map(({ id }) => id).join(', ')}
Stores              ${example.where}
Demo API key        ${shown(apiKey)}  (${demoAccounts.owner} pays, ${textOf(balances.apiKey)})
Demo access token   ${shown(accessToken)}  (${demoAccounts.appUser} pays, ${textOf(balances.accessToken)}, the app adds 20 %)
Metrics             ${metricsOrigin}/metrics  (for programs on this machine)
${notesOrigin === undefined ? '' : `Demo app            ${notesOrigin}  (${demoAccounts.appUser} connects it, and its calls cost ${demoAccounts.appUser}'s credits)\n`}
${advice(credentials)}

A completion${apiKey.token === undefined ? ' (set the variable KEY to the API key)' : ''}:

${curl('', { model, messages })}

The same as a stream:

${curl('-N ', { model, messages, stream: true })}
`
}

function shown({ token, hint, isRevoked }: DemoCredential): string {
  if (token !== undefined) return token
  return `${hint}, ${isRevoked ? 'revoked' : 'shown when it was created'}`
}

function advice({ apiKey, accessToken }: DemoCredentials): string {
  const isNew = apiKey.token !== undefined && accessToken.token !== undefined
  return isNew
    ? 'Save both. Only their digests are stored, so they are not shown again. If you lose one, run: npm start -- --new-keys'
    : 'Keys are shown only once. To replace both with new ones, run: npm start -- --new-keys'
}

function textOf({ available, held }: Balance): string {
  const onHold = held === 0n ? '' : `, ${formatCredits(held)} on hold`
  return `balance ${formatCredits(available)} credits${onHold}`
}
