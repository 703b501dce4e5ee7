import { copyFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Browser, type BrowserServer, chromium, type LaunchOptions } from 'playwright-core'

/** The environment that the browser needs to be unpacked and to find its own libraries. */
const LAMBDA = { AWS_LAMBDA_JS_RUNTIME: 'nodejs20.x' }
/** The browser comes with one font, which makes code look like prose. */
const MONOSPACE = 'DejaVuSansMono.ttf'
const require = createRequire(import.meta.url)
/**
 * The pages must follow the security rules of the web. A browser with a single process would exit with the
 * first page that closes.
 */
const LEFT_OUT = ['--disable-web-security', '--allow-running-insecure-content', '--single-process']

/**
 * Unpacks the browser that npm installed into a folder, with its own copies of the system libraries, so that
 * none must be installed. Once for each process.
 */
export async function unpackChromium(folder: string): Promise<void> {
  const before = { ...process.env }
  Object.assign(process.env, LAMBDA, { TMPDIR: folder })
  try {
    const { default: packaged } = await import('@sparticuz/chromium')
    await packaged.executablePath()
    await copyFile(require.resolve(`dejavu-fonts-ttf/ttf/${MONOSPACE}`), join(folder, 'fonts', MONOSPACE))
    await writeFile(join(folder, 'fonts', 'fonts.conf'), fontsOf(folder))
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  }
}

/** The package looks for its fonts in `/tmp`, wherever they were unpacked. Without any font no page opens. */
function fontsOf(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, 'fonts')}</dir>
  <cachedir>${join(folder, 'fonts-cache')}</cachedir>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`
}

/** Starts the browser in a folder. The caller closes it. */
export async function launchChromium(folder: string): Promise<Browser> {
  return chromium.launch(await optionsOf(folder))
}

/** Starts the browser in a folder for any number of processes, which connect to its address. The caller closes it. */
export async function serveChromium(folder: string): Promise<BrowserServer> {
  return chromium.launchServer({ ...(await optionsOf(folder)), host: '127.0.0.1' })
}

/** Connects to a browser that {@link serveChromium} started. Closing it closes only its own pages. */
export function connectToChromium(address: string): Promise<Browser> {
  return chromium.connect(address)
}

async function optionsOf(folder: string): Promise<LaunchOptions> {
  const { default: packaged } = await import('@sparticuz/chromium')
  const libraries = [join(folder, 'al2023', 'lib'), process.env.LD_LIBRARY_PATH ?? '']
    .filter(Boolean)
    .join(':')
  return {
    executablePath: join(folder, 'chromium'),
    args: packaged.args.filter((argument) => !LEFT_OUT.includes(argument)),
    env: {
      ...(process.env as Record<string, string>),
      LD_LIBRARY_PATH: libraries,
      FONTCONFIG_PATH: join(folder, 'fonts'),
      HOME: folder,
    },
  }
}
