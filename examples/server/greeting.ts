import { type Balance, formatCredits } from 'compat-router'
import { type ExampleApp, MOUNT } from './app.js'
import { type DemoCredential, type DemoCredentials, demoAccounts } from './demo-accounts.js'

/** What is printed once the server listens. */
export async function greeting(
  example: ExampleApp,
  credentials: DemoCredentials,
  origin: string,
  isDemo: boolean,
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
                    opens once, within an hour; npm start prints a new link

${isDemo ? 'A stand-in answers, no real model. Set UPSTREAM_BASE_URL and UPSTREAM_API_KEY for one.' : 'Every model costs the same here: this is an example.'}

Base URL            ${baseUrl}
Models              ${example.models.map(({ id }) => id).join(', ')}
Stores              ${example.where}
Demo API key        ${shown(apiKey)}  (${demoAccounts.owner} pays, ${textOf(balances.apiKey)})
Demo access token   ${shown(accessToken)}  (${demoAccounts.appUser} pays, ${textOf(balances.accessToken)}, the app adds 20 %)

${advice(credentials)}

A completion${apiKey.token === undefined ? ', with the API key in the variable KEY' : ''}:

${curl('', { model, messages })}

The same as a stream:

${curl('-N ', { model, messages, stream: true })}
`
}

function shown({ token, hint, isRevoked }: DemoCredential): string {
  if (token !== undefined) return token
  return `${hint}, ${isRevoked ? 'revoked' : 'shown when it was made'}`
}

function advice({ apiKey, accessToken }: DemoCredentials): string {
  const isNew = apiKey.token !== undefined && accessToken.token !== undefined
  return isNew
    ? 'Keep both: only their digests are stored, and they are not shown again. Should one be lost, npm start -- --new-keys makes new ones.'
    : 'Keys are shown once. To have new ones in place of these: npm start -- --new-keys'
}

function textOf({ available, held }: Balance): string {
  const onHold = held === 0n ? '' : `, ${formatCredits(held)} on hold`
  return `balance ${formatCredits(available)} credits${onHold}`
}
