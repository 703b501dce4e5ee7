/**
 * `npm run docs:build`: puts the pages of the site together, builds it, and checks its links. Everything that is
 * generated is below `.vitepress/pages` and `.vitepress/dist`. Needs the network once, for `npm ci --prefix docs`.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { codeBlocks } from '../../test/helpers/markdown.js'
import { apiReference } from './api-pages.js'
import { brokenLinks } from './check-links.js'
import { examplesPage } from './examples-page.js'
import { withFunctionPages } from './function-pages.js'
import { httpExamples } from './http-examples.js'
import { endpointsOf, httpReference, openApiDocument } from './http-reference.js'
import { forSite } from './page-links.js'
import { writeTwins } from './twins.js'

const run = promisify(execFile)
const docs = fileURLToPath(new URL('..', import.meta.url))
const root = join(docs, '..')
const pages = join(docs, '.vitepress', 'pages')
const output = join(docs, '.vitepress', 'dist')

/** Documents of the repository that are pages of the site. */
const PROJECT_PAGES = {
  'README.md': 'index',
  'CHANGELOG.md': 'changelog',
  'CONTRIBUTING.md': 'contributing',
  'SECURITY.md': 'security',
}

await install()
await rm(pages, { recursive: true, force: true })
await mkdir(join(pages, 'public'), { recursive: true })
await writePages()
await bin('vitepress', 'build')
await writeTwins(pages, output)
const broken = await brokenLinks(output)
for (const link of broken) console.error(`Broken link: ${link}`)
if (broken.length > 0) process.exitCode = 1
else console.log(`The site is in ${output}`)

/** Installs the tools of the site if their lockfile has changed since they were installed. */
async function install(): Promise<void> {
  const changedAt = async (file: string) =>
    (await stat(join(docs, file)).catch(() => undefined))?.mtimeMs ?? 0
  if ((await changedAt('node_modules/.package-lock.json')) >= (await changedAt('package-lock.json'))) return
  await run('npm', ['ci', '--prefix', docs], { cwd: root })
}

async function bin(name: string, ...args: string[]): Promise<void> {
  const file = join(docs, 'node_modules', '.bin', name)
  await run(file, args, { cwd: docs, maxBuffer: 1 << 26 }).catch(({ stdout, stderr }) => {
    throw new Error(`${name} failed:\n${stdout}\n${stderr}`)
  })
}

async function writePages(): Promise<void> {
  const write = async (name: string, text: string) => {
    await mkdir(dirname(join(pages, name)), { recursive: true })
    await writeFile(join(pages, `${name}.md`), text)
  }
  const known = new Map<string, string>(Object.entries(PROJECT_PAGES))
  for (const name of await readdir(docs))
    if (name.endsWith('.md')) known.set(`docs/${name}`, name.slice(0, -3))
  for (const [file, name] of known) {
    await write(name, forSite(await readFile(join(root, file), 'utf8'), file, known))
  }
  await cp(join(docs, 'pictures'), join(pages, 'pictures'), { recursive: true })
  await write('examples', await examplesPage(join(root, 'examples')))
  const document = await openApiDocument()
  await write('http-reference', httpReference(document, await httpExamples(endpointsOf(document))))
  await writeFile(join(pages, 'public', 'openapi.json'), JSON.stringify(document, null, 2))
  await bin('typedoc', '--logLevel', 'Error')
  const reference = await apiReference(join(pages, 'api'))
  for (const { file, name } of reference) await rename(join(pages, 'api', file), join(pages, 'api', name))
  const shown = [...known].map(async ([file, page]) => {
    const text = await readFile(join(root, file), 'utf8')
    const title = /^# (.+)$/m.exec(text)![1]!
    return codeBlocks(text).map((block) => ({ ...block, page, title }))
  })
  for (const { name, text } of withFunctionPages(reference, (await Promise.all(shown)).flat()))
    await writeFile(join(pages, 'api', name), text)
}
