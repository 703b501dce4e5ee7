/** A hole made on purpose in the source, and the command or test that must find it. */
export interface Hole {
  readonly name: string
  readonly file: string
  /** Occurs once in the file. */
  readonly from: string
  readonly to: string
  /** A file of tests, and a part of the titles of those that must fail. */
  readonly test: readonly [file: string, title: string]
}

/**
 * What no random caller of `npm run callers` can show: memory, what is done before anything is paid, and what operators
 * and owners of apps do.
 */
export const HOLES: readonly Hole[] = [
  {
    name: 'probabilities-repeated-without-a-bound',
    file: 'src/operations/responses/reply/output-items.ts',
    from: 'forgetProbabilities(): void {',
    to: 'forgetProbabilities(): void {\n    return',
    test: ['test/wire/memory.test.ts', 'are repeated in its last events up to a bound'],
  },
  {
    name: 'inner-json-without-limits',
    file: 'src/protocol/inner-json.ts',
    from: "if (!BEGINS_JSON.test(text)) return 'good'",
    to: "if (text.length > 0) return 'good'",
    test: ['test/wire/inner-json.test.ts', 'many values in encrypted_content'],
  },
  {
    name: 'named-items-not-counted',
    file: 'src/engine/call/pipeline.ts',
    from: 'if (plan.namedBytes !== undefined) memory.takeRequest(plan.namedBytes)',
    to: '',
    test: ['test/wire/memory.test.ts', 'counts them as its body'],
  },
  {
    name: 'embeddings-always-as-numbers',
    file: 'src/providers/openai-compatible/index.ts',
    from: 'const asBase64 = ',
    to: 'const asBase64 = false && ',
    test: ['test/operations/embeddings.test.ts', 'requests the format that the adapter states'],
  },
  {
    name: 'embeddings-bounded-as-other-replies',
    file: 'src/operations/embeddings/plan.ts',
    from: "return Math.min(Math.max(this.options.sizes.replyBytes, this.bytesOf('numbers')), this.mostBytes)",
    to: 'return this.options.sizes.replyBytes',
    test: ['test/operations/embeddings.test.ts', 'are served with the default options as'],
  },
  {
    name: 'repeats-of-the-request-read',
    file: 'src/providers/openai-compatible/response-state.ts',
    from: 'if (!NAMES_STATE.test(text)) return undefined',
    to: 'if (text.length > 0) return undefined',
    test: ['test/operations/responses.test.ts', 'in which it repeats the request'],
  },
  {
    name: 'counts-without-a-bound',
    file: 'src/operations/messages/counts-under-way.ts',
    from: 'if (before >= MOST_AT_ONCE) return undefined',
    to: '',
    test: [
      'test/operations/messages.test.ts',
      'returns an estimate while eight of its account are under way',
    ],
  },
  {
    name: 'lists-of-keys-without-a-bound',
    file: 'src/rules/schemas.ts',
    from: '.max(most)',
    to: '',
    test: ['test/admin/functions.test.ts', 'limits its lists of keys and removes duplicates'],
  },
  {
    name: 'terms-of-tokens-not-pinned',
    file: 'src/admin/keys.ts',
    from: 'terms: read.terms ?? pinned }',
    to: 'terms: read.terms }',
    test: ['test/admin/apps.test.ts', 'with an owner fix their terms in every token'],
  },
  {
    name: 'balance-tested-before-budgets',
    file: 'src/engine/charging/held-credit.ts',
    from: 'if (hidesBalance && limits.ownBudgets > 0) request.beforeBalance = limits.ownBudgets',
    to: '',
    test: ['test/wire/chosen-output.test.ts', 'is told about its own budget before the balance'],
  },
]
