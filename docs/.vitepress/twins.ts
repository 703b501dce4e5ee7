import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { GROUPS } from './sidebar.js'

/**
 * Writes each page as Markdown beside its HTML, and `llms.txt`, which lists them, for programs that read. `llms-full.txt`
 * has the text of all of them but the API.
 */
export async function writeTwins(pages: string, output: string): Promise<void> {
  const names = (await readdir(pages, { recursive: true })).filter((name) => name.endsWith('.md'))
  for (const name of names) {
    await mkdir(dirname(join(output, name)), { recursive: true })
    await copyFile(join(pages, name), join(output, name))
  }
  const read = (name: string) => readFile(join(pages, `${name}.md`), 'utf8')
  const start = await read('index')
  const sections = GROUPS.map(async ({ text, pages }) => {
    const lines = pages.map(async (name) => `- [${titleOf(await read(name))}](/${name}.md)`)
    return `## ${text}\n\n${(await Promise.all(lines)).join('\n')}`
  })
  const lead = start.split('\n\n')[1]!
  await writeFile(
    join(output, 'llms.txt'),
    `# compat-router\n\n> ${lead}\n\n${(await Promise.all(sections)).join('\n\n')}\n\n## API\n\n- [Every exported name](/api/index.md)\n`,
  )
  const texts = await Promise.all(GROUPS.flatMap(({ pages }) => pages).map(read))
  await writeFile(join(output, 'llms-full.txt'), [start, ...texts].join('\n\n---\n\n'))
}

const titleOf = (text: string) => /^# (.+)$/m.exec(text)![1]!
