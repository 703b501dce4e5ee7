/** Creates the load on plain sockets and times it. Every job ends by itself. */
import { LoadRun } from '../lib/load-run.js'
import type { LoadJob } from '../lib/messages.js'
import { serve } from '../lib/serve.js'

serve<LoadJob>({}, (job) => new LoadRun(job).result())
