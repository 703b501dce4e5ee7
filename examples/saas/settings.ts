/** The variables that the program needs, and where each comes from. */
const VARIABLES = {
  DATABASE_URL: 'a PostgreSQL database, such as postgres://user:password@localhost:5432/acme',
  SECRET_KEY:
    'from `npx compat-router maintenance generate-secret`. It encrypts the key of the provider in the database',
  CONNECT_SECRET:
    'another one from `npx compat-router maintenance generate-secret`. It signs the cookies of Connect',
  OPENAI_API_KEY: 'the key of your account at OpenAI',
  STRIPE_SECRET_KEY: 'from the dashboard of Stripe, such as sk_test_…',
  STRIPE_WEBHOOK_SECRET: 'printed by `stripe listen --forward-to localhost:3000/stripe`, such as whsec_…',
} as const

export type Variables = Readonly<Record<keyof typeof VARIABLES, string>>

/** Returns the variables. Throws an error that names each one that is missing, and says where to get it. */
export function readVariables(env: Readonly<Record<string, string | undefined>>): Variables {
  const entries = Object.entries(VARIABLES).map(([name, source]) => ({ name, source, value: env[name] }))
  const missing = entries.filter(({ value }) => !value)
  if (missing.length > 0) {
    const lines = missing.map(({ name, source }) => `  ${name}: ${source}`)
    throw new Error(
      `Set these variables in the environment:\n${lines.join('\n')}\nOr try it without any: npm run demo`,
    )
  }
  return Object.fromEntries(entries.map(({ name, value }) => [name, value])) as Variables
}
