/** Certificates for a test: a certificate authority, and a server's certificate for localhost by it. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type TestCertificates = { authority: string; certificate: string; key: string }

/** Makes the files in a folder, valid for a day. */
export async function makeCertificates(folder: string): Promise<TestCertificates> {
  const at = (name: string) => join(folder, name)
  const openssl = async (...args: string[]): Promise<void> => {
    const child = Bun.spawn(['openssl', ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
    const words = await child.stderr.text()
    if ((await child.exited) !== 0) throw new Error(`openssl ${args[0]}: ${words}`)
  }
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const authority = [...newKey, '-subj', '/CN=Test authority', '-keyout', at('ca.key'), '-out', at('ca.pem')]
  await openssl('req', '-x509', '-days', '1', ...authority)
  await openssl('req', ...newKey, '-subj', '/CN=localhost', '-keyout', at('server.key'), '-out', at('server.csr'))
  await writeFile(at('extensions'), 'subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n')
  const signing = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '1']
  await openssl(
    'x509',
    '-req',
    '-in',
    at('server.csr'),
    ...signing,
    '-extfile',
    at('extensions'),
    '-out',
    at('server.pem'),
  )
  return { authority: at('ca.pem'), certificate: at('server.pem'), key: at('server.key') }
}
