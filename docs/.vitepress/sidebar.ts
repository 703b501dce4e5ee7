export interface Group {
  readonly text: string
  /** Names of pages without `.md`. */
  readonly pages: readonly string[]
}

/** Every page of the site except those of the API, in the order of the sidebar. */
export const GROUPS: readonly Group[] = [
  { text: 'Start', pages: ['try', 'express', 'hosts', 'frameworks', 'durable', 'features'] },
  { text: 'Concepts', pages: ['concepts', 'charging', 'routes', 'credentials'] },
  { text: 'Models', pages: ['models', 'adapters', 'providers', 'byok', 'testing'] },
  {
    text: 'Users and money',
    pages: ['users', 'top-ups', 'plans', 'keys-page', 'limits', 'alerts', 'idempotency'],
  },
  { text: 'Apps and pages', pages: ['connect', 'browser', 'identity', 'console'] },
  {
    text: 'Operation',
    pages: ['deploy', 'production', 'scaling', 'stores', 'databases', 'observability', 'debugging'],
  },
  { text: 'Coming from', pages: ['migrate-from-litellm', 'migrate-from-openrouter'] },
  { text: 'Clients', pages: ['clients', 'responses', 'messages'] },
  {
    text: 'HTTP reference',
    pages: ['http-api', 'http-reference', 'request-fields', 'lookups', 'errors'],
  },
  {
    text: 'Library reference',
    pages: ['options', 'events', 'calls', 'admin', 'cli', 'entries', 'own-stores'],
  },
  { text: 'Proof', pages: ['faults', 'proofs', 'exactness', 'performance', 'compare', 'security'] },
  { text: 'Project', pages: ['examples', 'changelog', 'upgrading', 'contributing'] },
]
