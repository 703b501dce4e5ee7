/** The server of the quickstart of `@llmops/sdk`: Express, its middleware, and a PostgreSQL pool. */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readSetup } from '../../bench/lib/serve.js'

export interface LlmopsSetup {
  /** Where it is installed. */
  readonly directory: string
  readonly port: number
  readonly database: string
  /** Ends in `/v1`. */
  readonly upstream: string
}

const { database, directory, port, upstream } = readSetup<LlmopsSetup>()
const require = createRequire(join(directory, 'package.json'))
const load = (name: string) => import(pathToFileURL(require.resolve(name)).href)
const { default: express } = await load('express')
const { default: pg } = await load('pg')
const { llmops } = await load('@llmops/sdk')
const { createLLMOpsMiddleware } = await load('@llmops/sdk/express')

const client = llmops({
  basePath: '/llmops',
  database: new pg.Pool({ connectionString: database }),
  providers: [{ provider: 'openai', slug: 'openai', apiKey: 'key-of-the-host', customHost: upstream }],
})
const app = express()
app.use(express.json())
app.use('/llmops', createLLMOpsMiddleware(client))
app.listen(port, '127.0.0.1')
