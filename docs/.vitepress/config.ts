import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { GROUPS } from './sidebar.js'
import { slug } from './slug.js'

/** The pages that `build.ts` has put together. */
const pages = fileURLToPath(new URL('pages', import.meta.url))

const titleOf = (name: string) => /^# (.+)$/m.exec(readFileSync(`${pages}/${name}.md`, 'utf8'))?.[1] ?? name
const plain = (title: string) => title.replaceAll('`', '')
const itemsOf = (names: readonly string[]) =>
  names.map((name) => ({ text: plain(titleOf(name)), link: `/${name}` }))

/** The pages of the API: one for each entry of the package, and one for each of its functions. */
const apiPages = existsSync(`${pages}/api`)
  ? readdirSync(`${pages}/api`).filter((name) => name.endsWith('.md') && name !== 'index.md')
  : []
const apiItem = (name: string) => ({
  text: plain(titleOf(`api/${name}`)),
  link: `/api/${name}`,
})
const isFunction = (name: string) => titleOf(`api/${name}`).endsWith('()')
const functionsOf = (entry: string) =>
  [...readFileSync(`${pages}/api/${entry}.md`, 'utf8').matchAll(/^\| \[`\w+\(\)`\]\((\w+)\.md\)/gm)].map(
    (match) => apiItem(match[1]!),
  )
const entryItems = apiPages
  .map((name) => name.slice(0, -3))
  .filter((name) => !isFunction(name))
  .map((name) => ({ ...apiItem(name), items: functionsOf(name), collapsed: true }))

interface Token {
  readonly content: string
}
type Rule = (
  tokens: readonly Token[],
  index: number,
  options: unknown,
  environment: unknown,
  self: Rules,
) => string
interface Rules {
  readonly rules: Record<string, Rule>
  renderToken(tokens: readonly Token[], index: number, options: unknown): string
}

/** Renders an empty head of a column as a plain cell: a screen reader would announce a head without a name. */
function withPlainEmptyHeads({ renderer: { rules } }: { readonly renderer: Rules }): void {
  const plainly = (rule: string, cell: string, inner: 1 | -1) => {
    rules[rule] = (tokens, index, options, _, self) =>
      tokens[index + inner]?.content === '' ? cell : self.renderToken(tokens, index, options)
  }
  plainly('th_open', '<td>', 1)
  plainly('th_close', '</td>', -1)
}

interface Environment {
  readonly relativePath: string
}
interface Renderer {
  render(source: string, environment: Environment): string
}

/** Pages that repeat the words of others. */
const isSearched = (path: string) => !['changelog.md', 'contributing.md'].includes(path)

/**
 * Returns the words of a text. One such as `insufficient_credits` or `top-up` is found as a whole and by its parts. The
 * browser gets the source of this function, so it uses nothing else.
 */
function tokenize(text: string): string[] {
  const words = text.match(/[\p{L}\p{N}]+(?:[_-][\p{L}\p{N}]+)*/gu) ?? []
  return words.flatMap((word) => (/[_-]/.test(word) ? [word, ...word.split(/[_-]/)] : [word]))
}

/**
 * The codes of errors are all in one long table, which would come after each short paragraph that names one. The reference
 * of the API has each word of a guide too, and would come before it; only the page of a function comes first if its name is
 * what was typed.
 */
function boostDocument(id: string, term: string): number {
  if (id.startsWith('/api/')) return id.toLowerCase().startsWith(`/api/${term.toLowerCase()}.`) ? 4 : 0.1
  return term.includes('_') && id.startsWith('/errors') ? 4 : 1
}

/** A short word that is nearly another one is another word: `bun` is not `run`. */
function fuzzy(term: string): number | boolean {
  return term.length > 5 ? 0.15 : false
}

export default {
  title: 'compat-router',
  description:
    'An OpenAI-compatible chat endpoint in your own Node server, with exact charging in your own credits.',
  lang: 'en',
  srcDir: '.vitepress/pages',
  srcExclude: ['public/**'],
  cleanUrls: false,
  markdown: {
    anchor: { slugify: slug },
    headers: { slugify: slug },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    config: withPlainEmptyHeads,
  },
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  themeConfig: {
    outline: [2, 3],
    search: {
      provider: 'local',
      options: {
        detailedView: true,
        miniSearch: {
          options: { tokenize },
          searchOptions: {
            boost: { title: 4, titles: 2, text: 1 },
            combineWith: 'AND',
            boostDocument,
            fuzzy,
            weights: { fuzzy: 0.1, prefix: 0.3 },
          },
        },
        _render: (source: string, environment: Environment, markdown: Renderer) => {
          const html = markdown.render(source, environment)
          return isSearched(environment.relativePath) ? html : ''
        },
      },
    },
    nav: [
      { text: 'Start', link: '/express' },
      { text: 'Guides', link: '/users' },
      { text: 'Reference', link: '/options' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: 'Proof', link: '/faults' },
    ],
    sidebar: {
      '/api/': [
        {
          text: 'API',
          items: entryItems,
        },
      ],
      '/': GROUPS.map(({ text, pages: names }) => ({ text, items: itemsOf(names) })),
    },
  },
}
