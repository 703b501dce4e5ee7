import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { slug } from './slug.js'

export interface ApiPage {
  /** The file that TypeDoc wrote. */
  readonly file: string
  readonly name: string
  readonly text: string
}

/** The entries that TypeDoc names by another file than the package does. */
const NAMES: Readonly<Record<string, string>> = {
  'index-1.md': `${packageJson.name}.md`,
  'providers/ai-sdk.md': 'ai-sdk.md',
  'envelope/seal.md': 'envelope.md',
}

/** Returns the pages of the API, each with the name of its entry of the package. */
export async function apiReference(folder: string): Promise<ApiPage[]> {
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.md'))
  return Promise.all(
    files.map(async (file) => {
      const name = NAMES[file] ?? file
      const text = relink(await readFile(join(folder, file), 'utf8'))
      return {
        file,
        name,
        text: file === 'index.md' ? indexPage(text) : text.replace(/^# .*$/m, `# ${entryOf(name)}`),
      }
    }),
  )
}

const entryOf = (name: string) =>
  name === `${packageJson.name}.md` ? packageJson.name : `${packageJson.name}/${name.slice(0, -3)}`

function indexPage(text: string): string {
  const links = [...text.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, name]) => `- [${entryOf(name!)}](${name})`)
  const lead = 'Every exported name, from the comments in the source. One page for each entry of the package.'
  return `# API\n\n${lead}\n\n${links.sort().join('\n')}\n`
}

/**
 * Pages are all in one folder. TypeDoc numbers an anchor if names differ only in case, even if just one of them is a heading:
 * such a number goes.
 */
function relink(text: string): string {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => slug(heading!))
  const isNumbered = (anchor: string) =>
    headings.filter((name) => name === anchor.replace(/-\d+$/, '')).length === 1
  return text
    .replaceAll(/\]\(#([\w-]+-\d+)\)/g, (link, anchor: string) =>
      isNumbered(anchor) ? `](#${anchor.replace(/-\d+$/, '')})` : link,
    )
    .replaceAll(
      /\]\((?:\.\.\/)*([\w/-]+\.md)(#[^)]*)?\)/g,
      (_, file: string, anchor = '') => `](${NAMES[file] ?? file}${anchor})`,
    )
}
