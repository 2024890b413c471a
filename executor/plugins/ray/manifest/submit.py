import base64, json, os, shlex, sys, time
from ray.job_submission import JobSubmissionClient
start, names, env, words = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4:]
address = os.environ["RAY_DASHBOARD_ADDRESS"]
address = address if "://" in address else "http://" + address
job = os.environ["RAY_JOB_SUBMISSION_ID"]
own = {name: os.environ[name] for name in names if name in os.environ}
# Ray replaces what follows a dollar: such values reach the program of the task only.
exact = {name: value for name, value in own.items() if "$" in value}
plain = {name: value for name, value in own.items() if "$" not in value}
env["env_vars"] = {**plain, **env.get("env_vars", {})}
given = base64.b64encode(json.dumps([words, exact]).encode()).decode()
entrypoint = shlex.join(["python3", "-c", start, given])
for left in reversed(range(24)):  # the head may take a while on a busy machine
    try:
        client = JobSubmissionClient(address)
        try:
            client.get_job_status(job)  # a pod before this one submitted it
        except RuntimeError:
            client.submit_job(entrypoint=entrypoint, submission_id=job, runtime_env=env)
        break
    except (RuntimeError, ConnectionError) as error:
        if not left:
            raise
        print("The Ray cluster does not take the job yet:", type(error).__name__, file=sys.stderr, flush=True)
        time.sleep(5)
os.execvp("ray", ["ray", "job", "logs", "--address", address, "--follow", job])
