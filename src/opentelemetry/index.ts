export type { ObservedRouter } from './router-gauges.js'
export { createTelemetry, type Telemetry, type TelemetryOptions } from './telemetry.js'
