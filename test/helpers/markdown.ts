import { slug } from '../../docs/.vitepress/slug.js'

/**
 * A fenced block of a Markdown file, also one inside a list. `` ```ts run=mount with=options `` has the directives `run`
 * and `with`.
 */
export interface CodeBlock {
  readonly language: string
  readonly directives: Readonly<Record<string, string | undefined>>
  readonly text: string
  /** The line at which its fence opens. */
  readonly line: number
}

const FENCED = /^( *)```([^\n]*)\n(.*?)^\1```$/gms

export function codeBlocks(markdown: string): CodeBlock[] {
  return [...markdown.matchAll(FENCED)].map((match) => {
    const [, indent, head, text] = match
    const [language = '', ...directives] = head!.split(' ')
    return {
      language,
      directives: Object.fromEntries(directives.map((directive) => directive.split('='))),
      text: text!.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      line: markdown.slice(0, match.index).split('\n').length,
    }
  })
}

/** The rows of the table under a heading, without its head. Each row is a list of trimmed cells. */
export function tableUnder(markdown: string, heading: string): string[][] {
  const section = markdown.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0]
  if (section === undefined) throw new Error(`There is no heading ${heading}`)
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

/** The texts between backticks. */
export function codeSpans(text: string): string[] {
  return [...proseOf(text).matchAll(/`([^`]+)`/g)].map((match) => match[1]!)
}

/** The anchors that GitHub gives to the headings of a file. */
export function anchors(markdown: string): Set<string> {
  return new Set([...proseOf(markdown).matchAll(/^#+ (.+)$/gm)].map((match) => slug(match[1]!)))
}

/** Targets of links within the repository. */
export function relativeLinks(markdown: string): string[] {
  return [...proseOf(markdown).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => match[1]!)
    .filter((link) => !/^https?:/.test(link))
}

/** The text without its code blocks. */
function proseOf(markdown: string): string {
  return markdown.replace(FENCED, '')
}
