import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Returns a page with the code of every example. */
export async function examplesPage(folder: string): Promise<string> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.ts')).sort()
  const sections = names.map(async (name) => {
    const text = await readFile(join(folder, name), 'utf8')
    return `## ${name}\n\n\`\`\`\`ts\n${text.trim()}\n\`\`\`\``
  })
  const intro =
    'Programs that run, from the folder `examples` of the repository and of the package. `server` is the one that `npm start` runs.'
  return `# Examples\n\n${intro}\n\n${(await Promise.all(sections)).join('\n\n')}\n`
}
