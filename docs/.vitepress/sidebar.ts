export interface Group {
  readonly text: string
  /** Names of pages without `.md`. */
  readonly pages: readonly string[]
}

/** Every page of the site except those of the API, in the order of the sidebar. */
export const GROUPS: readonly Group[] = [
  { text: 'Start', pages: ['try', 'express', 'hosts', 'durable'] },
  { text: 'Concepts', pages: ['concepts', 'charging', 'routes', 'credentials'] },
  {
    text: 'Guides',
    pages: [
      ...['users', 'top-ups', 'keys-page', 'models', 'adapters', 'connect', 'browser', 'identity', 'limits'],
      ...[
        'alerts',
        'debugging',
        'byok',
        'idempotency',
        'testing',
        'production',
        'scaling',
        'stores',
        'own-stores',
      ],
      ...['migrate-from-litellm', 'migrate-from-openrouter'],
    ],
  },
  { text: 'Clients', pages: ['clients', 'responses', 'messages'] },
  {
    text: 'Reference',
    pages: [
      ...[
        'options',
        'http-api',
        'http-reference',
        'request-fields',
        'lookups',
        'errors',
        'events',
        'observability',
      ],
      ...['calls', 'admin', 'cli', 'console', 'entries'],
    ],
  },
  { text: 'Proof', pages: ['faults', 'proofs', 'exactness', 'performance', 'compare', 'security'] },
  { text: 'Project', pages: ['examples', 'changelog', 'upgrading', 'contributing'] },
]
