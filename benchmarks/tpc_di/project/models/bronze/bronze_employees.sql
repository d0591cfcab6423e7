select
    employee_id,
    manager_id,
    employee_first_name as first_name,
    employee_last_name as last_name,
    employee_job_code as job_code,
    nullif(employee_branch, '') as branch,
    nullif(employee_office, '') as office
from {{ source('raw', 'employees') }}
