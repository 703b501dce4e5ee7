import type { IncomingMessage } from 'node:http'

export const SECRET = 'connect-secret-0123456789abcdef-0123'
/** The cookie that names the user. A real host would sign it. */
export const USER_COOKIE = 'user'

export function userOf({ headers }: IncomingMessage): { account: string; name: string } | undefined {
  const account = new RegExp(`(?:^|; )${USER_COOKIE}=([^;]+)`).exec(headers.cookie ?? '')?.[1]
  return account === undefined ? undefined : { account, name: account[0]!.toUpperCase() + account.slice(1) }
}
