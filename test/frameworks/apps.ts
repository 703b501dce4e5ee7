import { BACK_PRESSURE, EARLY_LEAVE, LARGE_BODY, LEAVE, PREFLIGHT, REFUSALS } from './suite.js'

/** An application of a framework. */
export interface App {
  /** The block of the documents that mounts the router, with `app=NAME` or `run=NAME`. */
  readonly name: string
  /** As the documents call it. */
  readonly title: string
  /** The package whose version is the framework's. Node itself if undefined. */
  readonly package?: string
  /** Its lines, of an application that the documents do not have. */
  readonly lines?: string
  /** Where its lines go. */
  readonly file: string
  /** More files with lines of the documents: their blocks by their paths. */
  readonly blocks?: Readonly<Record<string, string>>
  /** `/compat/v1` by default. */
  readonly mount?: string
  /** The folder of the application: that of its name by default. Applications of one folder are built once. */
  readonly folder?: string
  /** The rest of the application: texts by their paths. */
  readonly files?: Readonly<Record<string, string>>
  /** Programs of the packages with their arguments, one after the other. */
  readonly build?: readonly (readonly string[])[]
  /** The one file of the build that is served, in a folder outside of all packages. */
  readonly alone?: string
  /** The program that serves it, on this port of 127.0.0.1. `PORT` and `HOST` are in its environment. */
  readonly start: (port: string) => readonly string[]
  /** Checks that do not hold, as the documents say. */
  readonly without?: readonly string[]
  /** More of its environment. */
  readonly env?: Readonly<Record<string, string>>
}

const HTML = '<!doctype html><title>Host</title>'

/** Node runs no decorators. */
const TO_JAVASCRIPT = ['esbuild', 'main.ts', '--outfile=main.js', '--format=esm', '--log-level=error']
const DECORATORS = JSON.stringify({ compilerOptions: { experimentalDecorators: true } })

const nextPages = {
  'app/layout.jsx':
    'export default function Layout({ children }) { return <html><body>{children}</body></html> }',
  'app/page.jsx': 'export default function Page() { return <p>Host</p> }',
}
const nextFiles = {
  'next.config.mjs': `
    import { resolve } from 'node:path'
    export default { turbopack: { root: resolve('../..') }, typescript: { ignoreBuildErrors: true } }`,
  ...nextPages,
}
const buildNext = [['next', 'build']] as const
const startNext = (port: string) => ['next', 'start', '--port', port, '--hostname', '127.0.0.1']

const nitroFiles = {
  'nitro.config.mjs': "export default { compatibilityDate: '2026-11-01', serverDir: './' }",
}

/** As wrangler bundles it. `workerd` is the runtime itself. */
export const workerFiles = {
  'wrangler.json': JSON.stringify({ name: 'host', main: 'main.ts', compatibility_date: '2026-11-01' }),
  'config.capnp': `
    using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [(name = "main", worker = .main), (name = "internet", network = (allow = ["public", "private"]))],
      sockets = [(name = "http", http = (), service = "main")],
    );
    const main :Workerd.Worker = (
      modules = [(name = "main.js", esModule = embed "out/main.js")],
      compatibilityDate = "2026-11-01",
      bindings = [(name = "UPSTREAM", fromEnvironment = "UPSTREAM")],
    );`,
}
export const workerBuild = [['wrangler', 'deploy', '--dry-run', '--outdir', 'out']] as const
export const startWorker = (port: string) => [
  'workerd',
  'serve',
  'config.capnp',
  '--socket-addr',
  `http=127.0.0.1:${port}`,
]

const server = (name: string, title: string, packageName?: string): App => ({
  name,
  title,
  ...(packageName !== undefined && { package: packageName }),
  file: `${name}.mjs`,
  start: () => ['node', `${name}.mjs`],
})

/** Servers without a build. Their packages are also those of the repository. */
export const SERVERS: readonly App[] = [
  server('express', 'Express', 'express'),
  server('connect', 'Connect', 'connect'),
  server('http', 'Plain http'),
  server('koa', 'Koa', 'koa'),
  server('hapi', 'hapi', '@hapi/hapi'),
  server('fastify', 'Fastify, the plugin', 'fastify'),
  server('hono', 'Hono, on Node', 'hono'),
]

/** Frameworks that build an application or start a server of their own, and runtimes. */
export const FRAMEWORKS: readonly App[] = [
  {
    name: 'nest',
    title: 'NestJS on Express',
    package: '@nestjs/core',
    file: 'main.ts',
    files: { 'tsconfig.json': DECORATORS },
    build: [TO_JAVASCRIPT],
    start: () => ['node', 'main.js'],
  },
  {
    name: 'nest-module',
    title: 'NestJS on Express, a module',
    package: '@nestjs/core',
    file: 'main.ts',
    files: { 'tsconfig.json': DECORATORS },
    build: [TO_JAVASCRIPT],
    start: () => ['node', 'main.js'],
    without: [LARGE_BODY, REFUSALS],
  },
  {
    name: 'nest-fastify',
    title: 'NestJS on Fastify, the plugin',
    package: '@nestjs/core',
    file: 'main.ts',
    files: { 'tsconfig.json': DECORATORS },
    build: [TO_JAVASCRIPT],
    start: () => ['node', 'main.js'],
  },
  {
    name: 'next',
    title: 'Next.js, App Router',
    package: 'next',
    folder: 'next',
    file: 'app/compat/v1/[...path]/route.ts',
    files: nextFiles,
    build: buildNext,
    start: startNext,
  },
  {
    name: 'next-pages',
    title: 'Next.js, Pages Router',
    package: 'next',
    folder: 'next',
    mount: '/api/compat/v1',
    file: 'pages/api/compat/v1/[...path].ts',
    files: nextFiles,
    build: buildNext,
    start: startNext,
  },
  {
    name: 'sveltekit',
    title: 'SvelteKit, `adapter-node`',
    package: '@sveltejs/kit',
    file: 'src/routes/compat/v1/[...path]/+server.ts',
    files: {
      'vite.config.js': `
        import adapter from '@sveltejs/adapter-node'
        import { sveltekit } from '@sveltejs/kit/vite'
        export default { plugins: [sveltekit({ adapter: adapter() })] }`,
      'src/app.html':
        '<!doctype html><html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>',
      'src/routes/+page.svelte': '<p>Host</p>',
    },
    build: [['vite', 'build']],
    start: () => ['node', 'build'],
    env: { BODY_SIZE_LIMIT: '64M' },
  },
  {
    name: 'nitro',
    title: 'Nitro',
    package: 'nitro',
    file: 'routes/compat/v1/[...path].ts',
    files: nitroFiles,
    build: [['nitro', 'build']],
    start: () => ['node', '.output/server/index.mjs'],
  },
  {
    name: 'nitro-fetch',
    title: 'Nitro, web requests',
    package: 'nitro',
    file: 'routes/compat/v1/[...path].ts',
    files: nitroFiles,
    build: [['nitro', 'build']],
    start: () => ['node', '.output/server/index.mjs'],
    without: [EARLY_LEAVE],
  },
  {
    name: 'nuxt',
    title: 'Nuxt',
    package: 'nuxt',
    file: 'server/routes/compat/v1/[...path].ts',
    files: {
      'nuxt.config.ts': "export default { compatibilityDate: '2026-11-01', telemetry: false }",
      'app.vue': '<template><p>Host</p></template>',
    },
    build: [['nuxt', 'build']],
    start: () => ['node', '.output/server/index.mjs'],
  },
  {
    name: 'react-router',
    title: 'React Router, framework mode',
    package: 'react-router',
    file: 'app/compat.ts',
    files: {
      'vite.config.js': `
        import { reactRouter } from '@react-router/dev/vite'
        export default { plugins: [reactRouter()] }`,
      'app/routes.ts': `
        import { index, route } from '@react-router/dev/routes'
        export default [index('home.jsx'), route('compat/v1/*', 'compat.ts')]`,
      'app/home.jsx': 'export default function Home() { return <p>Host</p> }',
      'app/root.jsx': `
        import { Outlet, Scripts } from 'react-router'
        export default function Root() { return <html><body><Outlet /><Scripts /></body></html> }`,
    },
    build: [['react-router', 'build']],
    start: () => ['react-router-serve', 'build/server/index.js'],
  },
  {
    name: 'tanstack-start',
    title: 'TanStack Start, on srvx',
    package: '@tanstack/react-start',
    file: 'src/routes/compat/v1/$.ts',
    files: {
      'vite.config.js': `
        import { tanstackStart } from '@tanstack/react-start/plugin/vite'
        import react from '@vitejs/plugin-react'
        export default { plugins: [tanstackStart(), react()] }`,
      'src/router.tsx': `
        import { createRouter } from '@tanstack/react-router'
        import { routeTree } from './routeTree.gen'
        export function getRouter() { return createRouter({ routeTree }) }`,
      'src/routes/__root.tsx': `
        import { createRootRoute, HeadContent, Outlet, Scripts } from '@tanstack/react-router'
        export const Route = createRootRoute({
          component: () => <html><head><HeadContent /></head><body><Outlet /><Scripts /></body></html>,
        })`,
      'src/routes/index.tsx': `
        import { createFileRoute } from '@tanstack/react-router'
        export const Route = createFileRoute('/')({ component: () => <p>Host</p> })`,
    },
    build: [['vite', 'build']],
    start: (port) => ['srvx', '--prod', '--port', port, '--host', '127.0.0.1', 'dist/server/server.js'],
  },
  {
    name: 'astro',
    title: 'Astro, `@astrojs/node`',
    package: 'astro',
    file: 'src/pages/compat/v1/[...path].ts',
    files: {
      'astro.config.mjs': `
        import node from '@astrojs/node'
        export default { output: 'server', adapter: node({ mode: 'standalone' }) }`,
      'src/pages/index.astro': HTML,
    },
    build: [['astro', 'build']],
    start: () => ['node', 'dist/server/entry.mjs'],
    without: [BACK_PRESSURE],
  },
  {
    name: 'elysia',
    title: 'Elysia, on Node',
    package: 'elysia',
    file: 'main.ts',
    build: [TO_JAVASCRIPT],
    start: () => ['node', 'main.js'],
  },
  {
    name: 'trpc',
    title: 'tRPC, standalone',
    package: '@trpc/server',
    file: 'main.ts',
    build: [TO_JAVASCRIPT],
    start: () => ['node', 'main.js'],
  },
  {
    name: 'bun',
    title: 'Bun',
    package: 'bun',
    file: 'main.ts',
    start: () => ['bun', 'main.ts'],
  },
  {
    name: 'deno',
    title: 'Deno',
    package: 'deno',
    file: 'main.ts',
    files: { 'deno.json': '{ "nodeModulesDir": "manual" }' },
    start: () => ['deno', 'run', '--allow-all', 'main.ts'],
  },
  {
    name: 'workers',
    title: 'Workers, by wrangler in workerd',
    package: 'wrangler',
    file: 'main.ts',
    files: workerFiles,
    build: workerBuild,
    start: startWorker,
    without: [LEAVE, EARLY_LEAVE],
  },
  {
    name: 'vite',
    title: "Vite's development server",
    package: 'vite',
    file: 'vite.config.ts',
    files: { 'index.html': HTML },
    start: (port) => ['vite', '--port', port, '--strictPort', '--host', '127.0.0.1'],
    without: [PREFLIGHT],
  },
]

/** The rows of the documents' table. */
export const APPS: readonly App[] = [...SERVERS, ...FRAMEWORKS]

/** An application with durable stores, the console and Connect. */
export const NEXT_CONSOLE: App = {
  name: 'next-console',
  title: 'The console and Connect in Next.js',
  package: 'next',
  file: 'compat.ts',
  blocks: {
    'app/compat/v1/[...path]/route.ts': 'next-console-route',
    'pages/api/compat.ts': 'next-console-pages',
    'next.config.mjs': 'next-console-config',
  },
  files: {
    ...nextPages,
    'session.ts': `
      export function accountOf(cookie = '') {
        const account = /(?:^|; )user=(\\w+)/.exec(cookie)?.[1]
        return account === undefined ? undefined : { account, name: account }
      }`,
  },
  build: buildNext,
  start: startNext,
  env: { SECRET_KEY: '5'.repeat(64), CONNECT_SECRET: '6'.repeat(64) },
}
