import type { CodeBlock } from '../../test/helpers/markdown.js'
import type { ApiPage } from './api-pages.js'

/** A code block of a document, and the page that has it. */
export interface Shown extends CodeBlock {
  /** Without `.md`. */
  readonly page: string
  /** The title of the page. */
  readonly title: string
}

const SIGNATURE = /^> \*\*\w+\*\*(.*)\n/m
/** What is between two signatures belongs to the first. */
const SIGNATURES = /^> \*\*\w+\*\*([^\n]*)\n(.*?)(?=^> \*\*|(?!.))/gms
const PARAMETERS = /^#{4,5} Parameters\n\n((?:\|.*\n?)+)/m
/** Columns that fit beside the sidebar. */
const COLUMNS = 80

/**
 * Gives each function a page of its own, with its signature as code, its options as a table, and an example from the
 * documents. The pages of the entries list them instead.
 */
export function withFunctionPages(pages: readonly ApiPage[], blocks: readonly Shown[]): ApiPage[] {
  const tables = new Map(pages.flatMap(({ text, name }) => optionTables(text, name)))
  const owners = new Map<string, ReadonlyMap<string, string>>()
  const made = pages.map((page) => {
    const functions = functionsOf(page.text)
    owners.set(page.name, new Map(functions.map(({ name }) => [name.toLowerCase(), name])))
    const own = functions.map(({ name, text }): ApiPage => {
      const file = `${name}.md`
      return { file, name: file, text: functionPage(name, text, page, tables, blocks) }
    })
    return { page: { ...page, text: withList(page.text, functions) }, own }
  })
  return made.flatMap(({ page, own }) => [page, ...own]).map((page) => relinked(page, owners))
}

interface Section {
  readonly name: string
  readonly text: string
}

function functionsOf(text: string): Section[] {
  return (functionsSection(text) ?? '').split(/\n\*\*\*\n/).flatMap((part) => {
    const name = /^### (\w+)\(\)$/m.exec(part)?.[1]
    return name === undefined ? [] : [{ name, text: part.trim() }]
  })
}

function functionsSection(text: string): string | undefined {
  return /^## Functions\n(.*?)(?=^## |(?!.))/ms.exec(text)?.[1]
}

function withList(text: string, functions: readonly Section[]): string {
  if (functions.length === 0) return text
  const rows = functions.map(({ name, text }) => `| [\`${name}()\`](${name}.md) | ${firstSentence(text)} |`)
  const list = ['| function | |', '| --- | --- |', ...rows].join('\n')
  return text.replace(functionsSection(text)!, () => `\n${list}\n\n`)
}

function firstSentence(text: string): string {
  const prose = text.split(SIGNATURE).at(-1)!.split('\n#')[0]!.trim().replaceAll(/\s+/g, ' ')
  return (/^.*?[.:](?= |$)/.exec(prose)?.[0] ?? prose).replaceAll('|', '\\|')
}

function functionPage(
  name: string,
  section: string,
  { name: entryPage, text: entryText }: ApiPage,
  tables: ReadonlyMap<string, string>,
  blocks: readonly Shown[],
): string {
  const entry = /^# (.+)$/m.exec(entryText)![1]!
  const types = [
    ...new Set((PARAMETERS.exec(section)?.[1] ?? '').match(/\b\w+(?:Options|Settings)\b/g) ?? []),
  ]
  const options = types.flatMap((type) => {
    const table = tables.get(type)
    return table === undefined ? [] : [`## ${type}\n\n${table}`]
  })
  const body = section
    .replace(/^### .*\n+/, '')
    .replaceAll(SIGNATURES, (_, head: string, rest: string) => signature(name, head, rest) + rest)
    .replaceAll(/^##(#+ )/gm, '$1')
    .replaceAll('](#', `](${entryPage}#`)
  const parts = [
    `# ${name}()`,
    `Of the entry [\`${entry}\`](${entryPage}).`,
    body,
    ...options,
    example(name, blocks),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

/** The signature as code: its parameters with their types, as the table below it has them. */
function signature(name: string, head: string, rest: string): string {
  const rows = (PARAMETERS.exec(rest)?.[1] ?? '').trim().split('\n').slice(2)
  const parameters = rows.map((row) => {
    const [parameter, type] = row
      .split(/(?<!\\)\|/)
      .slice(1)
      .map(asCode)
    return `${parameter}: ${type}`
  })
  const returns = asCode(/\): (.*)$/.exec(head)?.[1] ?? 'void')
  const line = `function ${name}(${parameters.join(', ')}): ${returns}`
  const lines = `function ${name}(\n${parameters.map((one) => `  ${one},\n`).join('')}): ${returns}`
  return `\`\`\`ts\n${line.length <= COLUMNS ? line : lines}\n\`\`\`\n`
}

/** The text of a cell without its links and escapes. */
function asCode(cell: string): string {
  return cell
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll('`', '')
    .replaceAll(/\\([<>|{}[\]_*])/g, '$1')
    .trim()
}

/** The tables of members of types, by the names of the types. */
function optionTables(text: string, page: string): (readonly [string, string])[] {
  return [...text.matchAll(/^### (\w+(?:Options|Settings))\n(.*?)(?=^#{1,3} |^\*\*\*$|(?!.))/gms)].flatMap(
    ([, name, section]) => {
      const table = /^#{4,5} Properties\n\n((?:\|.*\n?)+)/m.exec(section!)?.[1]
      // Its rows have anchors, which must not occur twice.
      return table === undefined
        ? []
        : [
            [
              name!,
              table
                .replaceAll(/<a id="[^"]*"><\/a> ?/g, '')
                .replaceAll('](#', `](${page}#`)
                .trim(),
            ] as const,
          ]
    },
  )
}

/** The shortest code of the documents that calls the function. */
function example(name: string, blocks: readonly Shown[]): string {
  const calls = new RegExp(`(?<![\\w.])${name}\\(`)
  const [shortest] = blocks
    .filter(({ language, text }) => /^[jt]s$/.test(language) && calls.test(text))
    .sort((one, other) => one.text.length - other.text.length)
  if (shortest === undefined) return ''
  const { language, page, text, title } = shortest
  return `## Example\n\nFrom [${title}](../${page}.md):\n\n\`\`\`${language}\n${text.trim()}\n\`\`\``
}

/** Links to a function lead to its page. */
function relinked(
  { text, ...page }: ApiPage,
  owners: ReadonlyMap<string, ReadonlyMap<string, string>>,
): ApiPage {
  const linked = text.replaceAll(
    /\]\(([\w-]+\.md)?#([\w-]+)\)/g,
    (link, file: string | undefined, anchor: string) => {
      const name = owners.get(file ?? page.name)?.get(anchor)
      return name === undefined ? link : `](${name}.md)`
    },
  )
  return { ...page, text: linked }
}
